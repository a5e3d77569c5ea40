// The published workloads on a kernel that cannot preallocate: one of the arms is exchanged for another. Each case must
// come out as FAIL.
#include <array>
#include <cerrno>

#include <sys/syscall.h>

#include "cases/case.h"
#include "cases/planted/shared/broken_kernel.h"
#include "cases/planted/shared/one_answer.h"

namespace holdfast::cases {

extern const Case sources_s0_object_allocation;
extern const Case sources_s1_random_writes;
extern const Case sources_s2_log_files;
extern const Case sources_s3_allocate_and_rewrite;

namespace {

const std::array asked{
    Asked{&sources_s0_object_allocation, "posix_fallocate / one pwrite"},
    Asked{&sources_s1_random_writes, "preallocation"},
    Asked{&sources_s2_log_files, "no rewrite: posix_fallocate / 8 KiB writes"},
    Asked{&sources_s3_allocate_and_rewrite, "posix_fallocate / 8 KiB writes"},
};

void run(Experiment& experiment) {
    answer_call(SYS_fallocate, 1, 0, EOPNOTSUPP);
    play(experiment, asked);
}

}  // namespace

extern const Case planted_no_preallocation;
const Case planted_no_preallocation{
    .name = "planted.no_preallocation",
    .summary = "plays the published workloads on a kernel that refuses fallocate",
    .method =
        "A system call filter (seccomp) answers fallocate(2) of mode 0 with EOPNOTSUPP, so that the C library writes "
        "a byte into each block.",
    .needs = {{"feature", "tracepoints"}},
    .disk = DiskNeed::held,
    .time_bound = std::chrono::seconds{600},
    .run = run,
};

}  // namespace holdfast::cases
