// Cuts the power while a file is cloned and the clone and its source are written to.
// Contract: after a power cut at any moment, a reader sees zeros or data written there, and all that a sync promised.
#include "cases/stale_data/shared/crash.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    CrashTest test{experiment};
    auto& source = test.create();
    auto& clone = test.create();
    source.write_direct({0, 128 * KiB});
    source.fsync();
    if (!clone.clone(source)) experiment.skip("files cannot be cloned: FICLONE is EOPNOTSUPP");
    clone.fsync();
    source.write_direct({16 * KiB, 48 * KiB});
    source.fdatasync();
    clone.write_buffered({40 * KiB, 80 * KiB});
    clone.fsync();
    source.write_direct({96 * KiB, 160 * KiB});
    source.fsync();
    test.cut_power();
}

}  // namespace

extern const Case stale_data_crash_clone;
const Case stale_data_crash_clone{
    .name = "stale_data.crash_clone",
    .summary = "cuts the power while a file is cloned and both are written to, and looks for stale and lost data",
    .method =
        "On an aged disk on which every sector says where it came from, a file is cloned (FICLONE), and then the "
        "source and the clone are written to, directly and through the page cache, with syncs in between, while the "
        "disk keeps a log of all writes and flushes. Then, at many points of that log, a disk is made that has what "
        "was written up to there, and others that lost a random part of what no flush had covered; each is mounted, "
        "so that the filesystem recovers, is read and checked by fsck. Readers must find zeros or data written at "
        "that offset, and what a sync had promised by then.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
