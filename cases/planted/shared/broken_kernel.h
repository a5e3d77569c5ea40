// A kernel that answers one call wrongly, for the process that asks for it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include "fixtures/base/failure.h"

namespace holdfast {

/// From now on, until the process ends, `call` is not carried out where its argument of this number (from 0) is `value`:
/// it fails with `error`, or, where that is 0, claims to have worked. A system call filter (seccomp) stands in for the
/// broken kernel; it sees the lower half of the argument, which comes first on a little-endian machine.
inline void answer_call(unsigned call, unsigned argument, std::uint32_t value, unsigned error) {
    const auto value_at = static_cast<unsigned>(offsetof(seccomp_data, args) + argument * sizeof(__u64));
    std::array filter{
        sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 3),
        sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, value_at),
        sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1),
        sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{.len = filter.size(), .filter = filter.data()};
    checked(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "giving up new privileges (prctl)");
    checked(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), "setting a system call filter (prctl)");
}

}  // namespace holdfast
