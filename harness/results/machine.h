// The machine a run was made on.
#pragma once

#include "harness/results/result.h"

namespace holdfast {

/// Gathers it: uname(2), the CPUs this process may use, memory, versions of the tools that are installed.
[[nodiscard]] MachineInfo describe_machine();

}  // namespace holdfast
