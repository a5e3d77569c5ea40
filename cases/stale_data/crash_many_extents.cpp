// Cuts the power after each of many writes into preallocated ranges of one file.
// Contract: after a power cut at any moment, a reader sees zeros or data written there, and all that a sync promised.
#include "cases/stale_data/shared/crash.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    CrashTest test{experiment};
    constexpr std::uint64_t ranges = 24;
    constexpr auto apart = 64 * KiB;
    auto& file = test.create();
    for (std::uint64_t i = 0; i < ranges; ++i) {
        const auto begin = i * apart;
        if (!file.allocate(0, {begin, begin + apart / 2}))
            experiment.skip("files cannot be preallocated: fallocate is EOPNOTSUPP");
        file.write_direct({begin + 8 * KiB, begin + 12 * KiB});
    }
    file.fsync();
    for (std::uint64_t i = 0; i < ranges; ++i) {
        const auto begin = i * apart + 12 * KiB;
        if (i % 2 == 0)
            file.write_direct({begin, begin + 4 * KiB});
        else
            file.write_buffered({begin, begin + 4 * KiB});
        file.fdatasync();
    }
    test.cut_power_at_promises();
}

}  // namespace

extern const Case stale_data_crash_many_extents;
const Case stale_data_crash_many_extents{
    .name = "stale_data.crash_many_extents",
    .summary = "cuts the power after each of many synced writes into preallocated ranges of one file",
    .method =
        "On an aged disk on which every sector says where it came from, a file gets many preallocated ranges with a "
        "written block in each, more than fit into its inode, and then a block beside each is written, directly and "
        "through the page cache, followed by fdatasync: each turns an unwritten block into data and changes nothing "
        "else. For the moment after each, a disk is made with just what flushes had covered by then; it is mounted, "
        "so that the filesystem recovers, and what was promised must be there.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
