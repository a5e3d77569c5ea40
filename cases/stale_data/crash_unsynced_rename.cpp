// Cuts the power after a new version of a file was renamed over the old one and nobody had synced either.
// Contract: there is the old version or the new one, whole, where the filesystem says so: ext4 since auto_da_alloc
// (Documentation/admin-guide/ext4.rst).
#include "cases/stale_data/shared/crash.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    CrashTest test{experiment};
    auto& other = test.create();
    for (const auto size : {4 * KiB, 60 * KiB}) {
        auto& old = test.create();
        old.write_buffered({0, 40 * KiB});
        old.fsync();
        auto& next = test.create();
        next.write_buffered({0, size});
        next.rename_over_unsynced(old);
        // Commits the rename.
        other.write_buffered({0, 4 * KiB});
        other.fsync();
    }
    test.cut_power();
}

}  // namespace

extern const Case stale_data_crash_unsynced_rename;
const Case stale_data_crash_unsynced_rename{
    .name = "stale_data.crash_unsynced_rename",
    .summary = "cuts the power after a new version of a file has replaced the old one without a sync",
    .method =
        "On an aged disk on which every sector says where it came from, a file is written anew under another name and "
        "renamed over the old one, and nothing is synced but another file, while the disk keeps a log of all writes "
        "and flushes. Then, at many points of that log, a disk is made that has what was written up to there, and "
        "others that lost a random part of what no flush had covered; each is mounted, so that the filesystem "
        "recovers, is read and checked by fsck. Under the name there must be the old version or the new one, whole, "
        "where the filesystem promises that.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
