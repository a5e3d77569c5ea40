// Cuts the power after one file was synced, while another has grown through the page cache and was not.
// Contract: after a power cut at any moment, a reader sees zeros or data written there, and all that a sync promised.
#include "cases/stale_data/shared/crash.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    CrashTest test{experiment};
    auto& unsynced = test.create();
    auto& synced = test.create();
    for (std::uint64_t i = 0; i < 3; ++i) {
        unsynced.write_buffered({i * 32 * KiB, (i + 1) * 32 * KiB});
        synced.write_buffered({i * 8 * KiB, (i + 1) * 8 * KiB});
        synced.fsync();
    }
    test.cut_power();
}

}  // namespace

extern const Case stale_data_crash_neighbour;
const Case stale_data_crash_neighbour{
    .name = "stale_data.crash_neighbour",
    .summary = "cuts the power after one file was synced while another has grown, and looks for stale and lost data",
    .method =
        "As stale_data.crash_buffered_append, with two files that grow through the page cache, of which one alone is "
        "synced. The journal then has the other's new blocks and size, and its data may not be on the disk: where the "
        "filesystem keeps no order between the two, a reader finds what was in those blocks before.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
