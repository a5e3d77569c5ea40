// A comparison for people, and for programs.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "harness/compare/comparison.h"

namespace holdfast {

/// Grouped, worst first; one line for each case and change, with all filesystems where it is the same; below it the kernel
/// stacks where they changed. A last line counts.
[[nodiscard]] std::string format_comparison(const Comparison& comparison, const Results& before, const Results& after);

/// "holdfast-comparison/1".
[[nodiscard]] nlohmann::json to_json(const Comparison& comparison, const Results& before, const Results& after);

}  // namespace holdfast
