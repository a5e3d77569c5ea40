// Cuts the power after a file got its size by a write or a preallocation whose blocks were then punched, zeroed or never written.
// Contract: after a power cut at any moment, a reader sees zeros or data written there, and all that a sync promised.
#include <fcntl.h>

#include "cases/stale_data/shared/crash.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    CrashTest test{experiment};
    auto& file = test.create();
    file.write_direct({0, 32 * KiB});
    file.fsync();
    file.write_buffered({32 * KiB, 96 * KiB});
    (void)file.zero(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, {32 * KiB, 96 * KiB});
    file.fsync();
    file.write_buffered({96 * KiB, 128 * KiB});
    (void)file.zero(FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, {96 * KiB, 128 * KiB});
    file.fdatasync();
    (void)file.zero(FALLOC_FL_ZERO_RANGE, {120 * KiB, 192 * KiB});
    file.fsync();
    (void)file.allocate(0, {192 * KiB, 256 * KiB});
    file.fsync();
    test.cut_power();
}

}  // namespace

extern const Case stale_data_crash_size;
const Case stale_data_crash_size{
    .name = "stale_data.crash_size",
    .summary = "cuts the power after a file grew, its new blocks were punched or zeroed, and it was synced",
    .method =
        "As stale_data.crash_zero_range, but what is punched and zeroed is what a buffered write has just added at "
        "the end of the file and what has not reached the disk: the new size must be there all the same once it was "
        "synced.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
