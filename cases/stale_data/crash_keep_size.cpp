// Cuts the power while appends go into preallocated blocks.
// Contract: after a power cut at any moment, a reader sees zeros or data written there, and all that a sync promised.
#include <fcntl.h>

#include "cases/stale_data/shared/crash.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    CrashTest test{experiment};
    auto& file = test.create();
    if (!file.allocate(FALLOC_FL_KEEP_SIZE, {0, 256 * KiB}))
        experiment.skip("files cannot be preallocated: fallocate(2) is EOPNOTSUPP");
    for (std::uint64_t i = 0; i < 6; ++i) {
        file.write_direct({i * 16 * KiB, (i + 1) * 16 * KiB});
        if (i % 2 == 1) file.fdatasync();
    }
    test.cut_power();
}

}  // namespace

extern const Case stale_data_crash_keep_size;
const Case stale_data_crash_keep_size{
    .name = "stale_data.crash_keep_size",
    .summary = "cuts the power while appends go into blocks preallocated beyond the end of file",
    .method =
        "On an aged disk on which every sector says where it came from, a file is preallocated with "
        "FALLOC_FL_KEEP_SIZE and then appended to directly, with an fdatasync after every second write, while the "
        "disk keeps a log of all writes and flushes. Then, at many points of that log, a disk is made that has what "
        "was written up to there, and others that lost a random part of what no flush had covered; each is mounted, "
        "so that the filesystem recovers, is read and checked by fsck. Readers must find zeros or data written at "
        "that offset, and what a sync had promised by then.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
