// Cuts the power while a file is cut short and grows again.
// Contract: after a power cut at any moment, a reader sees zeros or data written there, and all that a sync promised.
#include "cases/stale_data/shared/crash.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    CrashTest test{experiment};
    auto& file = test.create();
    auto& larger_than_ever = test.create();
    auto& other = test.create();
    file.write_direct({0, 128 * KiB});
    file.fsync();
    file.truncate(36 * KiB);
    file.write_buffered({64 * KiB, 96 * KiB});
    file.fsync();
    file.truncate(20 * KiB + sector_size);
    file.truncate(128 * KiB);
    file.write_direct({96 * KiB, 112 * KiB});
    file.fdatasync();
    file.truncate(98 * KiB + 3 * sector_size);
    file.fsync();
    file.write_direct({112 * KiB, 116 * KiB});
    file.fdatasync();

    // Committed by a sync that promises nothing for it.
    larger_than_ever.write_direct({0, 64 * KiB});
    larger_than_ever.fsync();
    larger_than_ever.truncate(20 * KiB + sector_size);
    larger_than_ever.truncate(80 * KiB);
    other.write_direct({0, 4 * KiB});
    other.fsync();
    test.cut_power();
}

}  // namespace

extern const Case stale_data_crash_truncate;
const Case stale_data_crash_truncate{
    .name = "stale_data.crash_truncate",
    .summary = "cuts the power while a file is cut short and grows again, and looks for stale and lost data",
    .method =
        "On an aged disk on which every sector says where it came from, a file is cut short and grown again, with "
        "writes and syncs in between, and another one inside a block, to a size that it never had, with a sync of a "
        "third file alone, while the disk keeps a log of all writes and flushes. Then, at many points of that log, a "
        "disk is made that has what was written up to there, and others that lost a random part of what no flush had "
        "covered; each is mounted, so that the filesystem recovers, is read and checked by fsck. Readers must find "
        "zeros or data written at that offset, and what a sync had promised by then; and a file that is larger than "
        "it ever was before it was cut short has been cut short.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
