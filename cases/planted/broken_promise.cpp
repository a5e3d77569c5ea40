// fallocate.no_space in a process in which one write into the preallocated range gets ENOSPC. Must come out as FAIL.
#include <cerrno>

#include <sys/syscall.h>

#include "cases/case.h"
#include "cases/planted/shared/broken_kernel.h"

namespace holdfast::cases {

extern const Case fallocate_no_space;

namespace {

// Of the 64 blocks of 4 KiB that are written; nothing else is written that far into a file.
constexpr std::uint32_t offset_of_block_32 = 32 * 4096;

void run(Experiment& experiment) {
    answer_call(SYS_pwrite64, 3, offset_of_block_32, ENOSPC);
    fallocate_no_space.run(experiment);
}

}  // namespace

extern const Case planted_broken_promise;
const Case planted_broken_promise{
    .name = "planted.broken_promise",
    .summary = "plays fallocate.no_space on a kernel that has no space for what it preallocated",
    .method = "A system call filter (seccomp) answers one write into the preallocated range with ENOSPC.",
    .run = run,
};

}  // namespace holdfast::cases
