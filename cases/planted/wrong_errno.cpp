// fallocate.modes in a process in which COLLAPSE_RANGE answers EIO, as a broken kernel's would. Must come out as FAIL.

#include <array>
#include <cerrno>
#include <cstddef>

#include <linux/audit.h>
#include <linux/falloc.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "cases/case.h"
#include "fixtures/base/failure.h"

namespace holdfast::cases {

extern const Case fallocate_modes;

namespace {

/// Lasts until the process ends. The mode is the second argument; its lower half comes first on a little-endian machine.
void answer_collapse_with_eio() {
    constexpr unsigned mode_at = offsetof(seccomp_data, args) + sizeof(__u64);
    std::array filter{
        sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fallocate, 0, 3),
        sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, mode_at),
        sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FALLOC_FL_COLLAPSE_RANGE, 0, 1),
        sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EIO),
        sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{.len = filter.size(), .filter = filter.data()};
    checked(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "giving up new privileges (prctl)");
    checked(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), "setting a system call filter (prctl)");
}

void run(Experiment& experiment) {
    answer_collapse_with_eio();
    fallocate_modes.run(experiment);
}

}  // namespace

extern const Case planted_wrong_errno;
const Case planted_wrong_errno{
    .name = "planted.wrong_errno",
    .summary = "plays fallocate.modes on a kernel that answers COLLAPSE_RANGE with EIO",
    .method = "A system call filter (seccomp) stands in for the broken kernel.",
    .poisoned = true,
    .time_bound = std::chrono::seconds{300},
    .run = run,
};

}  // namespace holdfast::cases
