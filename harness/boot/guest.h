// The guest's side of a boot: init of a kernel under test.
#pragma once

namespace holdfast {

/// Mounts what a run needs, loads modules, runs the program with the arguments of its job, tells the host, and ends the
/// machine. Only for process 1: throws BadInput in any other, and then has done nothing.
[[noreturn]] void run_guest();

}  // namespace holdfast
