// What is known about one result beyond its verdict, line by line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/results/result.h"

namespace holdfast {

/// Observations with what was expected and what backs them, evidence, kernel log, the end of the output, and the
/// command that replays it. Lines are indented by two spaces a level and not wrapped.
[[nodiscard]] std::vector<std::string> describe_details(const CaseResult& result);

/// The text without line breaks, other control characters (which terminals obey and XML forbids) or invalid UTF-8.
[[nodiscard]] std::string printable(std::string_view text);

/// The filesystem; with repetitions, "ext4 (2)" for all but the first.
[[nodiscard]] std::string describe_filesystem(const CaseResult& result);

}  // namespace holdfast
