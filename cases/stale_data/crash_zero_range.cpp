// Cuts the power while parts of a file are punched, zeroed and written again.
// Contract: after a power cut at any moment, a reader sees zeros or data written there, and all that a sync promised.
#include <fcntl.h>

#include "cases/stale_data/shared/crash.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    CrashTest test{experiment};
    auto& file = test.create();
    file.write_direct({0, 256 * KiB});
    file.fsync();
    (void)file.zero(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, {32 * KiB, 64 * KiB});
    file.write_direct({40 * KiB, 48 * KiB});
    file.fsync();
    (void)file.zero(FALLOC_FL_ZERO_RANGE, {128 * KiB, 192 * KiB});
    file.write_buffered({160 * KiB, 176 * KiB});
    file.fdatasync();
    (void)file.zero(FALLOC_FL_ZERO_RANGE, {200 * KiB + sector_size, 222 * KiB + sector_size});
    file.fsync();
    test.cut_power();
}

}  // namespace

extern const Case stale_data_crash_zero_range;
const Case stale_data_crash_zero_range{
    .name = "stale_data.crash_zero_range",
    .summary = "cuts the power while parts of a file are punched, zeroed and written again",
    .method =
        "On an aged disk on which every sector says where it came from, a file is written, punched, zeroed and "
        "written again, with syncs in between, while the disk keeps a log of all writes and flushes. Then, at many "
        "points of that log, a disk is made that has what was written up to there, and others that lost a random part "
        "of what no flush had covered; each is mounted, so that the filesystem recovers, is read and checked by fsck. "
        "Readers must find zeros or data written at that offset, and what a sync had promised by then.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
