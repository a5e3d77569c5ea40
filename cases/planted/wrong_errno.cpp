// fallocate.modes in a process in which COLLAPSE_RANGE answers EIO, as a broken kernel's would. Must come out as FAIL.
#include <cerrno>

#include <linux/falloc.h>
#include <sys/syscall.h>

#include "cases/case.h"
#include "cases/planted/shared/broken_kernel.h"

namespace holdfast::cases {

extern const Case fallocate_modes;

namespace {

void run(Experiment& experiment) {
    answer_call(SYS_fallocate, 1, FALLOC_FL_COLLAPSE_RANGE, EIO);
    fallocate_modes.run(experiment);
}

}  // namespace

extern const Case planted_wrong_errno;
const Case planted_wrong_errno{
    .name = "planted.wrong_errno",
    .summary = "plays fallocate.modes on a kernel that answers COLLAPSE_RANGE with EIO",
    .method = "A system call filter (seccomp) stands in for the broken kernel.",
    .disk = DiskNeed::poisoned,
    .time_bound = std::chrono::seconds{300},
    .run = run,
};

}  // namespace holdfast::cases
