// Cuts the power while a file grows through the page cache, with a sync now and then.
// Contract: after a power cut at any moment, a reader sees zeros or data written there, and all that a sync promised.
#include "cases/stale_data/shared/crash.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    CrashTest test{experiment};
    auto& file = test.create();
    for (std::uint64_t i = 0; i < 6; ++i) {
        file.write_buffered({i * 20 * KiB, (i + 1) * 20 * KiB});
        if (i % 2 == 1) test.sync_filesystem();
        if (i % 3 == 2) file.fsync();
    }
    test.cut_power();
}

}  // namespace

extern const Case stale_data_crash_buffered_append;
const Case stale_data_crash_buffered_append{
    .name = "stale_data.crash_buffered_append",
    .summary = "cuts the power while a file grows through the page cache, and looks for stale and lost data",
    .method =
        "On an aged disk on which every sector says where it came from, a file is grown through the page cache "
        "(delayed allocation, where the filesystem has it), with syncs in between, while the disk keeps a log of all "
        "writes and flushes. Then, at many points of that log, a disk is made that has what was written up to there, "
        "and others that lost a random part of what no flush had covered; each is mounted, so that the filesystem "
        "recovers, is read and checked by fsck. Readers must find zeros or data written at that offset, and what a "
        "sync had promised by then.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
