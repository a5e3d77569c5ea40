// Cuts the power while holes are punched and filled again.
// Contract: after a power cut at any moment, a reader sees zeros or data written there, and all that a sync promised.
#include <fcntl.h>

#include "cases/stale_data/shared/crash.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    CrashTest test{experiment};
    constexpr int punch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    auto& file = test.create();
    file.write_direct({0, 192 * KiB});
    file.fsync();
    if (!file.zero(punch, {16 * KiB, 80 * KiB})) experiment.skip("fallocate(2) with PUNCH_HOLE is EOPNOTSUPP");
    file.fsync();
    file.write_buffered({100 * KiB, 120 * KiB});
    if (!file.zero(punch, {96 * KiB + 512, 112 * KiB + 1024})) return;
    file.write_direct({32 * KiB, 48 * KiB});
    file.fdatasync();
    if (!file.zero(punch, {160 * KiB, 192 * KiB})) return;
    file.fsync();
    test.cut_power();
}

}  // namespace

extern const Case stale_data_crash_punch;
const Case stale_data_crash_punch{
    .name = "stale_data.crash_punch",
    .summary = "cuts the power while holes are punched into a file and filled again, and looks for stale and lost data",
    .method =
        "On an aged disk on which every sector says where it came from, holes are punched into a file, over dirty "
        "pages too and off the borders of blocks, and filled again, with syncs in between, while the disk keeps a log "
        "of all writes and flushes. Then, at many points of that log, a disk is made that has what was written up to "
        "there, and others that lost a random part of what no flush had covered; each is mounted, so that the "
        "filesystem recovers, is read and checked by fsck. Readers must find zeros or data written at that offset, "
        "and what a sync had promised by then.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
