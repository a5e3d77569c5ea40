// Results as KTAP version 1 (Documentation/dev-tools/ktap.rst of the kernel).
#pragma once

#include <string>

#include "harness/results/result.h"

namespace holdfast {

/// A test for each case with a subtest for each filesystem. XFAIL and SKIP are "ok" with that directive, XPASS is "ok";
/// HANG is "not ok" with TIMEOUT, BROKEN with ERROR. So is what did not run: a run that ended early must not look like one
/// that is complete. What is known about a failure stands before it as diagnostics.
[[nodiscard]] std::string format_ktap(const Results& results);

}  // namespace holdfast
