// Cuts the power after blocks that held metadata have become a file's.
// Contract: recovery after a power cut never puts old metadata over a file's data.
#include <algorithm>

#include "cases/stale_data/shared/crash.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    CrashTest test{experiment};
    auto& file = test.create();
    test.fill_up(6 * MiB);
    test.make_and_remove_directories();
    const auto free = test.free_space();
    const auto length = std::min<std::uint64_t>(free - std::min<std::uint64_t>(free, 512 * KiB), 6 * MiB);
    for (std::uint64_t at = 0; at + 64 * KiB <= length; at += 64 * KiB) file.write_direct({at, at + 64 * KiB});
    file.fsync();
    test.cut_power();
}

}  // namespace

extern const Case stale_data_crash_reused_metadata;
const Case stale_data_crash_reused_metadata{
    .name = "stale_data.crash_reused_metadata",
    .summary = "cuts the power after blocks that held directories have become a file's, and looks for lost data",
    .method =
        "On an aged disk on which every sector says where it came from, directories are made and removed again on a "
        "filesystem that is nearly full, and a file is then written directly into the space that is left, their "
        "blocks among it, and synced, while the disk keeps a log of all writes and flushes. Then, at many points of "
        "that log, a disk is made that has what was written up to there, and others that lost a random part of what "
        "no flush had covered; each is mounted, so that the filesystem recovers, is read and checked by fsck. "
        "Recovery must not put what the journal has of the directories back over the data of the file.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
