// Cuts the power after calls that move the end of file in ways of their own, and nobody has synced the file.
// Contract: after a power cut at any moment the filesystem recovers undamaged, and a reader sees zeros or data written
// there.
#include <fcntl.h>

#include "cases/stale_data/shared/crash.h"
#include "fixtures/filesystem/allocation_units.h"

namespace holdfast::cases {
namespace {

constexpr int zero_and_keep = FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE;
constexpr int punch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;

void run(Experiment& experiment) {
    CrashTest test{experiment};
    test.check_all_states();
    // Smaller ranges cannot be moved there (EINVAL).
    const bool moves = 16 * KiB % allocation_units(experiment.filesystem()).cluster == 0;
    auto& other = test.create();
    const auto commit = [&] {
        other.write_buffered({other.size(), other.size() + 4 * KiB});
        other.fsync();
    };
    {
        auto& file = test.create();
        file.write_buffered({79 * KiB, 136 * KiB});
        (void)file.allocate(0, {45 * KiB, 91 * KiB});
        if (moves) (void)file.collapse({112 * KiB, 128 * KiB});
        file.write_buffered({249 * KiB, 256 * KiB});
        (void)file.zero(zero_and_keep, {131 * KiB, 159 * KiB});
        if (file.size() >= 144 * KiB) file.store({133 * KiB, 143 * KiB});
        commit();
    }
    {
        auto& file = test.create();
        file.write_buffered({0, 50 * KiB});
        (void)file.zero(zero_and_keep, {40 * KiB, 80 * KiB});
        (void)file.zero(FALLOC_FL_ZERO_RANGE, {60 * KiB, 70 * KiB});
        commit();
        file.write_buffered({70 * KiB, 75 * KiB});
        (void)file.zero(punch, {64 * KiB, 100 * KiB});
        commit();
    }
    {
        auto& file = test.create();
        file.write_buffered({0, 90 * KiB});
        if (moves) (void)file.insert({16 * KiB, 48 * KiB});
        file.truncate(60 * KiB);
        (void)file.allocate(FALLOC_FL_KEEP_SIZE, {50 * KiB, 130 * KiB});
        commit();
        file.truncate(61 * KiB);
        file.write_buffered({100 * KiB, 101 * KiB});
        if (moves) (void)file.collapse({0, 32 * KiB});
        commit();
    }
    test.cut_power();
}

}  // namespace

extern const Case stale_data_crash_unsynced_sizes;
const Case stale_data_crash_unsynced_sizes{
    .name = "stale_data.crash_unsynced_sizes",
    .summary = "cuts the power after writes, fallocate and truncate around the end of a file that nobody has synced",
    .method =
        "On an aged disk on which every sector says where it came from, files are written through the page cache and "
        "a mapping, and preallocated, zeroed, punched, collapsed, inserted into and truncated around their end, with "
        "and without FALLOC_FL_KEEP_SIZE; only another file is synced, so that what was changed so far is committed, "
        "while the disk keeps a log of all writes and flushes. Then, at many points of that log, a disk is made that "
        "has what was written up to there, or only what was promised, or that lost other parts of what no flush had "
        "covered; each is mounted, so that the filesystem recovers, is read, and checked by fsck, which must find "
        "nothing.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
