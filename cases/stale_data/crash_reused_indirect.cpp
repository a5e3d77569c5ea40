// Cuts the power after the indirect blocks of one file have become data of another.
// Contract: recovery after a power cut never puts old metadata over a file's data.
#include <vector>

#include "cases/stale_data/shared/crash.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    CrashTest test{experiment};
    // Each has an indirect block in the midst of its data.
    std::vector<CrashTest::WrittenFile*> firsts;
    for (int i = 0; i < 8; ++i) firsts.push_back(&test.create());
    auto& second = test.create();
    for (auto* const first : firsts) {
        first->write_direct({0, 256 * KiB});
        first->fsync();
    }
    for (auto* const first : firsts) first->truncate(0);
    firsts.back()->fsync();
    // In pieces that no hole among the data of others is too small for.
    for (std::uint64_t at = 0; at < 2 * MiB; at += 16 * KiB) second.write_direct({at, at + 16 * KiB});
    second.fsync();
    test.cut_power();
}

}  // namespace

extern const Case stale_data_crash_reused_indirect;
const Case stale_data_crash_reused_indirect{
    .name = "stale_data.crash_reused_indirect",
    .summary =
        "cuts the power after a file was written where others had their indirect blocks, and looks for lost data",
    .method =
        "On an aged disk on which every sector says where it came from, eight synced files are emptied, and another "
        "one is written directly, piece by piece, where they had their data and, on ext3, their indirect blocks, "
        "while the disk keeps a log of all writes and flushes. Then, at many points of that log, a disk is made that "
        "has what was written up to there, or only what was promised, or that lost other parts of what no flush had "
        "covered; each is mounted, so that the filesystem recovers, is read and checked by fsck. Recovery must not "
        "put what the journal has of the indirect blocks back over the data.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
