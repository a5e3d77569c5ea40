// Cuts the power after the indirect blocks of one file have become data of another.
// Contract: recovery after a power cut never puts old metadata over a file's data.
#include "cases/stale_data/shared/crash.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    CrashTest test{experiment};
    auto& first = test.create();
    auto& second = test.create();
    first.write_direct({0, 256 * KiB});
    first.fsync();
    first.truncate(0);
    first.fsync();
    // It has no first twelve blocks, so that its data begins elsewhere in the same place.
    second.write_direct({48 * KiB, 320 * KiB});
    second.fsync();
    test.cut_power();
}

}  // namespace

extern const Case stale_data_crash_reused_indirect;
const Case stale_data_crash_reused_indirect{
    .name = "stale_data.crash_reused_indirect",
    .summary =
        "cuts the power after a file was written where another one had its indirect blocks, and looks for lost "
        "data",
    .method =
        "On an aged disk on which every sector says where it came from, a synced file is emptied, and another one, "
        "which begins at its thirteenth block, is written directly where the first had its data and, on ext3, its "
        "indirect blocks, while the disk keeps a log of all writes and flushes. Then, at many points of that log, a "
        "disk is made that has what was written up to there, or only what was promised, or that lost other parts of "
        "what no flush had covered; each is mounted, so that the filesystem recovers, is read and checked by fsck. "
        "Recovery must not put what the journal has of the indirect blocks back over the data.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
