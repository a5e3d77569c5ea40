// Cases of fallocate in a process in which the default mode claims to work and does nothing. Each must come out as FAIL.
#include <array>

#include <sys/syscall.h>

#include "cases/case.h"
#include "cases/planted/shared/broken_kernel.h"
#include "cases/planted/shared/one_answer.h"

namespace holdfast::cases {

extern const Case fallocate_failed_changes_nothing;
extern const Case fallocate_guarantee;
extern const Case fallocate_guarantee_after_crash;

namespace {

const std::array asked{
    Asked{&fallocate_failed_changes_nothing, "default"},
    Asked{&fallocate_guarantee, "default"},
    Asked{&fallocate_guarantee_after_crash, "promises"},
};

void run(Experiment& experiment) {
    answer_call(SYS_fallocate, 1, 0, 0);
    play(experiment, asked);
}

}  // namespace

extern const Case planted_ignored_allocation;
const Case planted_ignored_allocation{
    .name = "planted.ignored_allocation",
    .summary = "plays cases of fallocate on a kernel that only claims to allocate",
    .method = "A system call filter (seccomp) lets fallocate(2) of mode 0 return 0 without being carried out.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
