// Cuts the power while a new version of a file is renamed over the old one.
// Contract: after a power cut at any moment, there is the old version or the new one, whole.
#include "cases/stale_data/shared/crash.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    CrashTest test{experiment};
    auto& old = test.create();
    old.write_buffered({0, 40 * KiB});
    old.fsync();
    auto& next = test.create();
    next.write_buffered({0, 60 * KiB});
    next.fsync();
    next.rename_over(old);
    test.cut_power();
}

}  // namespace

extern const Case stale_data_crash_rename;
const Case stale_data_crash_rename{
    .name = "stale_data.crash_rename",
    .summary = "cuts the power while a new version of a file replaces the old one, and looks for what is neither",
    .method =
        "On an aged disk on which every sector says where it came from, a file is written anew under another name, "
        "synced, and renamed over the old one, and the directory is synced, while the disk keeps a log of all writes "
        "and flushes. Then, at many points of that log, a disk is made that has what was written up to there, and "
        "others that lost a random part of what no flush had covered; each is mounted, so that the filesystem "
        "recovers, is read and checked by fsck. Under the name there must be the old version or the new one, whole, "
        "and the new one once the directory was synced.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
