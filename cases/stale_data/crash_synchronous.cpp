// Cuts the power after each of the calls that promise by themselves what they did.
// Contract: after a power cut at any moment, a reader sees zeros or data written there, and all that a sync promised.
#include "cases/stale_data/shared/crash.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    CrashTest test{experiment};
    auto& file = test.create();
    file.write_durably(SyncWay::rwf_dsync, {0, 16 * KiB});
    file.write_durably(SyncWay::o_sync, {16 * KiB, 24 * KiB});
    file.write_durably(SyncWay::rwf_dsync, {4 * KiB, 8 * KiB});
    file.truncate(64 * KiB);
    file.write_durably(SyncWay::rwf_dsync, {32 * KiB, 36 * KiB});
    file.write_durably(SyncWay::o_sync, {48 * KiB, 56 * KiB});
    (void)file.allocate_synchronously(0, {64 * KiB, 96 * KiB});
    file.write_direct({8 * KiB, 12 * KiB});
    file.write_buffered({24 * KiB, 28 * KiB});
    file.aio_fdsync();
    file.write_direct({96 * KiB, 112 * KiB});
    file.aio_fdsync();
    test.cut_power();
}

}  // namespace

extern const Case stale_data_crash_synchronous;
const Case stale_data_crash_synchronous{
    .name = "stale_data.crash_synchronous",
    .summary =
        "cuts the power after writes with RWF_DSYNC and O_SYNC, fallocate with O_SYNC, syncfs and asynchronous "
        "fdatasync",
    .method =
        "On an aged disk on which every sector says where it came from, a file is written through the page cache with "
        "RWF_DSYNC and O_SYNC, at its end, into a hole and onto data, preallocated on a descriptor of O_SYNC, and "
        "synced by IOCB_CMD_FDSYNC, while the disk keeps a log of all writes and flushes. Then, at many points of "
        "that log, a disk is made that has what was written up to there, or only what was promised, or that lost "
        "other parts of what no flush had covered; each is mounted, so that the filesystem recovers, is read and "
        "checked by fsck. Readers must find zeros or data written at that offset, and what a sync had promised by "
        "then.",
    .needs = {{"feature", "aio"}},
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
