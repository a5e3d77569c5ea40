// unwritten.conversion_count in a process in which fallocate(2) claims to preallocate and does nothing. Must come out as
// FAIL: writes into holes convert no unwritten extents.
#include <sys/syscall.h>

#include "cases/case.h"
#include "cases/planted/shared/broken_kernel.h"

namespace holdfast::cases {

extern const Case unwritten_conversion_count;

namespace {

void run(Experiment& experiment) {
    answer_call(SYS_fallocate, 1, 0, 0);
    unwritten_conversion_count.run(experiment);
}

}  // namespace

extern const Case planted_nothing_to_convert;
const Case planted_nothing_to_convert{
    .name = "planted.nothing_to_convert",
    .summary = "plays unwritten.conversion_count on a kernel that only claims to preallocate",
    .method = "A system call filter (seccomp) lets fallocate(2) of mode 0 return 0 without being carried out.",
    .needs = {{"feature", "tracepoints"}},
    .run = run,
};

}  // namespace holdfast::cases
