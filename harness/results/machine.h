// The machine a run was made on.
#pragma once

#include <string>
#include <string_view>

#include "harness/results/result.h"

namespace holdfast {

/// Gathers it: uname(2), the CPUs this process may use, memory, versions of the tools that are installed. Throws
/// Failure.
[[nodiscard]] MachineInfo describe_machine();

/// The version in what a tool prints: "1.47.0" of "mke2fs 1.47.0 (5-Feb-2023)"; empty where there is none.
[[nodiscard]] std::string find_version(std::string_view output);

}  // namespace holdfast
