// Cuts the power after blocks that a file has given up, without a sync, are wanted by another one.
// Contract: as long as a power cut may bring the old file back, nobody else's data is in its blocks.
#include <fcntl.h>

#include "cases/stale_data/shared/crash.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    CrashTest test{experiment};
    auto& cut = test.create();
    auto& punched = test.create();
    auto& next = test.create();
    cut.write_direct({0, MiB});
    punched.write_direct({0, MiB});
    cut.fsync();
    punched.fsync();
    test.fill_up(256 * KiB);
    cut.truncate(0);
    (void)punched.zero(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, {0, MiB});
    for (std::uint64_t at = 0; at < 2 * MiB; at += 64 * KiB)
        if (!next.write_direct_if_space({at, at + 64 * KiB})) break;
    test.cut_power();
}

}  // namespace

extern const Case stale_data_crash_reused_blocks;
const Case stale_data_crash_reused_blocks{
    .name = "stale_data.crash_reused_blocks",
    .summary =
        "cuts the power when blocks that a file gave up without a sync are wanted by another, and looks for its "
        "data",
    .method =
        "On an aged disk on which every sector says where it came from, two synced files are cut off and punched out "
        "on a filesystem that is nearly full, and a third is written directly into the space that is then left, with "
        "no sync, while the disk keeps a log of all writes and flushes. Then, at many points of that log, a disk is "
        "made that has what was written up to there, or that lost other parts of what no flush had covered; each is "
        "mounted, so that the filesystem recovers, is read and checked by fsck. Where the old files are back, they "
        "must show their own data.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
