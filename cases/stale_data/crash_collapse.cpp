// Cuts the power while ranges are collapsed and inserted.
// Contract: after a power cut at any moment, a reader sees zeros or data written there, and all that a sync promised.
#include "cases/stale_data/shared/crash.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    CrashTest test{experiment};
    auto& file = test.create();
    file.write_direct({0, 256 * KiB});
    file.fsync();
    if (!file.collapse({64 * KiB, 128 * KiB}))
        experiment.skip("files cannot be collapsed: fallocate(2) with COLLAPSE_RANGE is EOPNOTSUPP");
    file.fsync();
    file.write_buffered({128 * KiB, 160 * KiB});
    if (!file.insert({64 * KiB, 128 * KiB})) experiment.skip("fallocate(2) with INSERT_RANGE is EOPNOTSUPP");
    file.fdatasync();
    file.write_direct({64 * KiB, 80 * KiB});
    if (!file.collapse({0, 64 * KiB})) return;
    file.fsync();
    test.cut_power();
}

}  // namespace

extern const Case stale_data_crash_collapse;
const Case stale_data_crash_collapse{
    .name = "stale_data.crash_collapse",
    .summary = "cuts the power while ranges of a file are collapsed and inserted, and looks for stale and lost data",
    .method =
        "On an aged disk on which every sector says where it came from, ranges of a file are taken out and put in by "
        "fallocate(2), with dirty pages and writes and syncs in between, while the disk keeps a log of all writes and "
        "flushes. Then, at many points of that log, a disk is made that has what was written up to there, and others "
        "that lost a random part of what no flush had covered; each is mounted, so that the filesystem recovers, is "
        "read and checked by fsck. Readers must find zeros or data written at that offset, and what a sync had "
        "promised by then.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
