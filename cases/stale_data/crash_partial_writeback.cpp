// Cuts the power when only the last block of what was written through the page cache has been written back.
// Contract: after a power cut at any moment, a reader sees zeros or data written there, and all that a sync promised.
#include <fcntl.h>

#include "cases/stale_data/shared/crash.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    CrashTest test{experiment};
    auto& other = test.create();
    other.write_direct({0, 4 * KiB});
    other.fsync();
    constexpr Range all{0, 64 * KiB};
    constexpr Range last{60 * KiB, 64 * KiB};
    const auto commit = [&] {
        other.write_buffered({other.size(), other.size() + 4 * KiB});
        other.fsync();
    };
    {
        auto& file = test.create();
        file.write_buffered(all);
        file.start_writeback(last);
        commit();
    }
    for (const int mode : {FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE}) {
        auto& file = test.create();
        file.write_buffered(all);
        (void)file.zero(mode, last);
        commit();
    }
    {
        auto& file = test.create();
        file.write_buffered(all);
        (void)file.allocate(FALLOC_FL_KEEP_SIZE, last);
        commit();
    }
    test.cut_power();
}

}  // namespace

extern const Case stale_data_crash_partial_writeback;
const Case stale_data_crash_partial_writeback{
    .name = "stale_data.crash_partial_writeback",
    .summary = "cuts the power when only the last block of a buffered write has been written back, punched or zeroed",
    .method =
        "On an aged disk on which every sector says where it came from, files are written through the page cache, and "
        "then only the last block is written back (sync_file_range), punched out, zeroed or allocated, and another "
        "file synced, so that what was changed so far is committed, while the disk keeps a log of all writes and "
        "flushes. Then, at many points of that log, a disk is made that has what was written up to there, or only "
        "what was promised, or that lost other parts of what no flush had covered; each is mounted, so that the "
        "filesystem recovers, is read and checked by fsck. Readers must find zeros or data written at that offset.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
