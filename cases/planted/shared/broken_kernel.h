// A kernel that answers one call wrongly, for the process that asks for it.
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fixtures/base/descriptor.h"
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

/// Does a call of this process in the kernel's place, or something before it. The result is what the call returns;
/// nothing lets the kernel carry it out.
using StandIn = std::function<std::optional<std::int64_t>(std::span<const __u64, 6> arguments)>;

namespace broken_kernel {

inline bool is_own_thread(__u32 thread) { return std::filesystem::exists(fmt::format("/proc/self/task/{}", thread)); }

// Until the process ends. Children that inherit the filter, such as fsck, are let through.
inline void stand_in(const Descriptor& calls, const StandIn& instead) {
    while (true) {
        seccomp_notif call{};
        if (::ioctl(calls.get(), SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) {
            if (errno == EINTR || errno == ENOENT) continue;
            return;
        }
        const auto result = is_own_thread(call.pid) ? instead(call.data.args) : std::nullopt;
        seccomp_notif_resp answer{};
        answer.id = call.id;
        answer.val = result.value_or(0);
        answer.flags = result ? 0 : SECCOMP_USER_NOTIF_FLAG_CONTINUE;
        (void)::ioctl(calls.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer);  // who called may be gone
    }
}

}  // namespace broken_kernel

/// From now on, until the process ends, `call` is first told to `instead`, in a thread of its own for which the kernel is
/// as it was.
inline void stand_in_for(unsigned call, StandIn instead) {
    std::promise<int> listener;
    std::thread{[number = listener.get_future(), instead = std::move(instead)]() mutable {
        broken_kernel::stand_in(Descriptor{number.get()}, instead);
    }}.detach();
    std::array filter{
        sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{.len = filter.size(), .filter = filter.data()};
    checked(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "giving up new privileges (prctl)");
    listener.set_value(static_cast<int>(
        checked(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program),
                "setting a system call filter that asks (seccomp)")));
}

}  // namespace holdfast
