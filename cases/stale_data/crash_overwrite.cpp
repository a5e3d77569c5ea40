// Cuts the power while data is overwritten.
// Contract: after a power cut at any moment, a reader sees zeros or data written there, and all that a sync promised.
#include "cases/stale_data/shared/committed_times.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    CrashTest test{experiment};
    auto& file = test.create();
    file.write_direct({0, 128 * KiB});
    file.fsync();
    for (const std::uint64_t i : {1, 5, 3, 6}) {
        file.write_direct({i * 16 * KiB, (i + 1) * 16 * KiB});
        file.write_buffered({(i - 1) * 16 * KiB, (i - 1) * 16 * KiB + 4 * KiB});
        file.fdatasync();
    }
    auto& other = test.create();
    const auto overwrite = [&](std::uint64_t begin) {
        overwrite_with_times_committed(test, file, other, {begin, begin + 8 * KiB});
    };
    overwrite(32 * KiB);
    file.fdatasync();
    overwrite(64 * KiB);
    file.fsync();
    overwrite(32 * KiB);
    file.aio_fdsync();
    test.cut_power();
}

}  // namespace

extern const Case stale_data_crash_overwrite;
const Case stale_data_crash_overwrite{
    .name = "stale_data.crash_overwrite",
    .summary = "cuts the power while data is overwritten, and looks for lost data",
    .method =
        "On an aged disk on which every sector says where it came from, a file is overwritten, directly and through "
        "the page cache, with an fdatasync after each, and then so that all that an overwrite changes of the file "
        "itself was committed while its data was in flight, and a sync has only the disk's cache to flush, while the "
        "disk keeps a log of all writes and flushes. Then, at many points of that log, a disk is made that has what "
        "was written up to there, and others that lost a random part of what no flush had covered; each is mounted, "
        "so that the filesystem recovers, is read and checked by fsck. Readers must find zeros or data written at "
        "that offset, and what a sync had promised by then.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
