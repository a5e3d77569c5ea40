// Cuts the power while files grow by single sectors, within a block that they have already.
// Contract: after a power cut at any moment, a reader sees zeros or data written there, and all that a sync promised.
#include "cases/stale_data/shared/crash.h"

namespace holdfast::cases {
namespace {

Range sector(std::uint64_t index) { return {index * sector_size, (index + 1) * sector_size}; }

void run(Experiment& experiment) {
    CrashTest test{experiment};
    auto& direct = test.create();
    auto& buffered = test.create();
    auto& dsync = test.create();
    for (auto* file : {&direct, &buffered, &dsync}) {
        file->write_direct(sector(0));
        file->fsync();
    }
    for (std::uint64_t i = 1; i < 3; ++i) {
        direct.write_direct(sector(i));
        direct.fdatasync();
        buffered.write_buffered(sector(i));
        buffered.fdatasync();
        dsync.write_durably(SyncWay::direct_o_dsync, sector(i));
    }
    test.cut_power();
}

}  // namespace

extern const Case stale_data_crash_sector_append;
const Case stale_data_crash_sector_append{
    .name = "stale_data.crash_sector_append",
    .summary =
        "cuts the power while files grow by sectors, which changes nothing but their size, and looks for lost "
        "data",
    .method =
        "On an aged disk on which every sector says where it came from, files grow by one sector after the other, "
        "directly, through the page cache and with RWF_DSYNC, each followed by an fdatasync: nothing but the size "
        "changes besides the data, while the disk keeps a log of all writes and flushes. Then, at many points of that "
        "log, a disk is made that has what was written up to there, or only what was promised, or that lost other "
        "parts of what no flush had covered; each is mounted, so that the filesystem recovers, is read and checked by "
        "fsck. What an fdatasync had promised by then, the size too, must be there.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
