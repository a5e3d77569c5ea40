// Cuts the power in the moment in which a write was promised, in every way in which a program can have that.
// Contract: from then on it is there: the data, and the end of file that it moved (fsync(2), msync(2), open(2): O_SYNC and
// O_DSYNC, io_uring_enter(2), chattr(1): S).
#include <fcntl.h>

#include "cases/stale_data/shared/crash.h"
#include "fixtures/filesystem/allocation_units.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    CrashTest test{experiment};
    const auto unit = direct_write_unit(experiment.filesystem());
    const auto sector = smallest_direct_write(experiment.filesystem().root());
    for (const auto way : all_sync_ways) {
        auto& file = test.create();
        if (!file.write_durably(way, {0, 4 * unit})) continue;
        file.write_durably(way, {unit, 2 * unit});
        file.truncate(16 * unit);
        file.write_durably(way, {8 * unit, 10 * unit});
        if (file.allocate(0, {16 * unit, 32 * unit})) {
            file.fsync();
            file.write_durably(way, {20 * unit, 21 * unit});
        }
        if (file.allocate(FALLOC_FL_KEEP_SIZE, {32 * unit, 48 * unit})) {
            file.fsync();
            file.write_durably(way, {32 * unit, 34 * unit});
        }
        // Into a block of its own.
        const auto end = file.size();
        file.write_durably(way, {end, end + sector});
    }
    test.cut_power_at_promises();
}

}  // namespace

extern const Case stale_data_crash_sync_ways;
const Case stale_data_crash_sync_ways{
    .name = "stale_data.crash_sync_ways",
    .summary = "cuts the power right after a write was promised, in seventeen ways, and looks for it",
    .method =
        "On an aged disk on which every sector says where it came from, files are written to at their end, onto data, "
        "into a hole, into preallocated blocks below and behind their end, and by a sector, each time in one of "
        "seventeen "
        "ways that promise the write: fsync, fdatasync, syncfs, msync, by io_submit, linked and drained in io_uring, "
        "O_SYNC, "
        "O_DSYNC, "
        "RWF_SYNC, RWF_DSYNC, the attribute S, and with O_DIRECT. For the moment after each, a disk is made with just "
        "what flushes had covered by then; it is mounted, so that the filesystem recovers, and what was promised must "
        "be there.",
    .needs = {{"feature", "aio"}},
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
