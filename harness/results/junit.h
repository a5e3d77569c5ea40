// Results as JUnit XML, as the schema of Jenkins has it.
#pragma once

#include <string>

#include "harness/results/result.h"

namespace holdfast {

/// A testsuite for each family, a testcase for each case and filesystem. FAIL, HANG and CRASH are failures, BROKEN is
/// an error, XFAIL and SKIP are skipped with the reason, XPASS is passed.
[[nodiscard]] std::string format_junit(const Results& results);

}  // namespace holdfast
