// Where the threads of a hung case wait.
#pragma once

#include <nlohmann/json.hpp>
#include <sys/types.h>

namespace holdfast {

/// The kernel stacks of all threads of all processes in a process group, as
/// [{"process": 12, "thread": 13, "name": "holdfast", "state": "D", "stack": ["io_schedule", ...]}].
/// Where /proc/PID/stack cannot be read, "stack" is that fact as a text.
[[nodiscard]] nlohmann::json stacks_of_group(pid_t group);

}  // namespace holdfast
