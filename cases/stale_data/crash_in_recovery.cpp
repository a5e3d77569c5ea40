// Cuts the power, and then once more while the filesystem recovers, or soon after.
// Contract: a recovery that was interrupted can be done again, and what is synced after a recovery is there after the next.
#include "cases/stale_data/shared/crash.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    CrashTest test{experiment};
    auto& appended = test.create();
    auto& other = test.create();
    other.write_direct({0, 128 * KiB});
    other.fsync();
    for (std::uint64_t i = 0; i < 3; ++i) {
        appended.write_direct({i * 16 * KiB, (i + 1) * 16 * KiB});
        appended.fdatasync();
        (void)other.allocate(0, {(8 + i) * 64 * KiB, (9 + i) * 64 * KiB});
        other.write_direct({(8 + i) * 64 * KiB, (8 + i) * 64 * KiB + 8 * KiB});
        other.fsync();
    }
    other.truncate(64 * KiB);
    other.fsync();
    appended.write_buffered({48 * KiB, 96 * KiB});
    appended.fsync();
    test.cut_power_in_recovery();
}

}  // namespace

extern const Case stale_data_crash_in_recovery;
const Case stale_data_crash_in_recovery{
    .name = "stale_data.crash_in_recovery",
    .summary = "cuts the power again while the filesystem recovers from a power cut, and after the next sync",
    .method =
        "On an aged disk on which every sector says where it came from, files are appended to, preallocated, "
        "truncated and synced. At two promises the power is cut, and what is left is mounted on a disk that keeps a "
        "log of all writes and flushes of the recovery; the power is cut again at moments spread over it, with only "
        "what flushes had covered by then, or a random part of the rest. Each such disk is mounted, read, and judged "
        "by what had been promised before the first power cut. In the end a file is written to the filesystem that "
        "has recovered, and synced; it must be there after a power cut as well.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
