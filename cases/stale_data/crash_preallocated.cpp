// Cuts the power while preallocated blocks are written to.
// Contract: after a power cut at any moment, a reader sees zeros or data written there, and all that a sync promised.
#include <fcntl.h>

#include "cases/stale_data/shared/crash.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    CrashTest test{experiment};
    auto& file = test.create();
    if (!file.allocate(0, {0, 256 * KiB})) experiment.skip("files cannot be preallocated: fallocate(2) is EOPNOTSUPP");
    file.fsync();
    for (const std::uint64_t i : {3, 0, 7, 5}) {
        file.write_direct({i * 16 * KiB, (i + 1) * 16 * KiB});
        file.write_buffered({(i + 8) * 16 * KiB, (i + 8) * 16 * KiB + 8 * KiB});
        file.fdatasync();
    }
    test.cut_power();
}

}  // namespace

extern const Case stale_data_crash_preallocated;
const Case stale_data_crash_preallocated{
    .name = "stale_data.crash_preallocated",
    .summary = "cuts the power while preallocated blocks are written to, and looks for stale and lost data",
    .method =
        "On an aged disk on which every sector says where it came from, a file is preallocated, and written to here "
        "and there, directly and through the page cache, with an fdatasync after each, while the disk keeps a log of "
        "all writes and flushes. Then, at many points of that log, a disk is made that has what was written up to "
        "there, and others that lost a random part of what no flush had covered; each is mounted, so that the "
        "filesystem recovers, is read and checked by fsck. Readers must find zeros or data written at that offset, "
        "and what a sync had promised by then.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
