// Cuts the power after the whole filesystem was synced.
// Contract: after a power cut at any moment, a reader sees zeros or data written there, and all that a sync promised.
#include "cases/stale_data/shared/committed_times.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    CrashTest test{experiment};
    auto& file = test.create();
    file.write_buffered({0, 32 * KiB});
    file.syncfs();
    for (std::uint64_t i = 0; i < 4; ++i) {
        file.write_direct({i * 4 * KiB, (i + 1) * 4 * KiB});
        file.syncfs();
    }
    file.write_direct({32 * KiB, 40 * KiB});
    file.syncfs();
    auto& other = test.create();
    for (const std::uint64_t i : {1, 3}) {
        overwrite_with_times_committed(test, file, other, {i * 4 * KiB, (i + 1) * 4 * KiB});
        file.syncfs();
    }
    test.cut_power();
}

}  // namespace

extern const Case stale_data_crash_syncfs;
const Case stale_data_crash_syncfs{
    .name = "stale_data.crash_syncfs",
    .summary = "cuts the power after appends and overwrites that syncfs(2) has promised, and looks for lost data",
    .method =
        "On an aged disk on which every sector says where it came from, a file is written through the page cache, "
        "overwritten and appended to directly, and the filesystem synced by syncfs(2) after each, also where all that "
        "an overwrite changes of the file itself was committed while its data was in flight, so that only the disk's "
        "cache is left to be flushed, while the disk keeps a log of all writes and flushes. Then, at many points of "
        "that log, a disk is made that has what was written up to there, or only what was promised, or that lost "
        "other parts of what no flush had covered; each is mounted, so that the filesystem recovers, is read and "
        "checked by fsck. What syncfs had promised by then must be there.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
