// Cases of RWF_ATOMIC, RWF_NOWAIT and RWF_DONTCACHE on a kernel that takes the flags and does not do what they ask for. Each
// must come out as FAIL.
#include <array>
#include <cerrno>

#include <sys/syscall.h>
#include <sys/uio.h>

#include "cases/case.h"
#include "cases/planted/shared/broken_kernel.h"
#include "cases/planted/shared/one_answer.h"
#include "fixtures/io/rwf.h"

namespace holdfast::cases {

extern const Case stale_data_atomic_write;
extern const Case stale_data_crash_atomic_write;
extern const Case stale_data_nowait;
extern const Case stale_data_uncached_window;

namespace {

constexpr std::array asked{
    Asked{&stale_data_crash_atomic_write, "torn"},
    Asked{&stale_data_atomic_write, "answers"},
    Asked{&stale_data_nowait, "waits"},
    Asked{&stale_data_uncached_window, "lost"},
};

// One half after the other, as by a kernel that splits what must be whole.
std::int64_t write_in_halves(int file, const iovec& part, off_t offset) {
    const auto half = part.iov_len / 2;
    const auto first = ::pwrite(file, part.iov_base, half, offset);
    if (first != static_cast<ssize_t>(half)) return first < 0 ? -errno : first;
    const auto second = ::pwrite(file, static_cast<const char*>(part.iov_base) + half, part.iov_len - half,
                                 offset + static_cast<off_t>(half));
    return second < 0 ? -errno : first + second;
}

// A write that is to leave the page cache leaves it before it has reached the disk; an atomic one is split, and others are
// plain writes.
std::optional<std::int64_t> forget(std::span<const __u64, 6> arguments) {
    constexpr int forgotten = rwf_atomic | rwf_dontcache | RWF_NOWAIT;
    const auto flags = static_cast<int>(arguments[5]);
    if ((flags & forgotten) == 0) return std::nullopt;
    const auto* const parts = reinterpret_cast<const iovec*>(arguments[1]);
    if ((flags & rwf_dontcache) != 0) return static_cast<std::int64_t>(parts->iov_len);
    const bool one = static_cast<int>(arguments[2]) == 1;
    if ((flags & rwf_atomic) != 0 && one)
        return write_in_halves(static_cast<int>(arguments[0]), *parts, static_cast<off_t>(arguments[3]));
    const auto count = ::pwritev2(static_cast<int>(arguments[0]), parts, static_cast<int>(arguments[2]),
                                  static_cast<off_t>(arguments[3]), flags & ~forgotten);
    return count < 0 ? -errno : count;
}

void run(Experiment& experiment) {
    stand_in_for(SYS_pwritev2, forget);
    play(experiment, asked);
}

}  // namespace

extern const Case planted_forgotten_flags;
const Case planted_forgotten_flags{
    .name = "planted.forgotten_flags",
    .summary = "plays cases of RWF_ATOMIC, RWF_NOWAIT and RWF_DONTCACHE on a kernel that forgets the flags",
    .method =
        "A system call filter (seccomp) hands each pwritev2 to a stand-in, which drops what RWF_DONTCACHE is to write, "
        "splits what RWF_ATOMIC is to write, and does the others without their flag.",
    .needs = {{"feature", "aio"}},
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
