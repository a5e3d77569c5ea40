// Direct writes go into a hole that only an unsynced buffered write has put below the end of file.
// Contract: no reader ever sees anything but zeros or data written there, and what was acknowledged is there.
#include "cases/stale_data/shared/window.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    look_through(
        experiment,
        {.file = {.written = 4 * block},
         .operations = {buffered_write({15 * block, 16 * block}), direct_write({8 * block, 9 * block}),
                        direct_write({12 * block, 13 * block}), buffered_write({20 * block, 20 * block + sector_size}),
                        direct_write({18 * block, 19 * block})}});
}

}  // namespace

extern const Case stale_data_unsynced_window;
const Case stale_data_unsynced_window{
    .name = "stale_data.unsynced_window",
    .summary = "looks for stale data while writes into a hole are in flight below an end of file that was never synced",
    .method =
        "On an aged disk on which every sector says where it came from, buffered writes move the end of file out "
        "without a sync, so that the disk knows nothing of it, and direct writes into the hole below it are in flight "
        "while the disk holds all data. What is held is let go one by one, in the order of submission, against it, "
        "and from the middle outwards; before each, every kind of reader (buffered, direct, mapped, through a pipe "
        "and io_uring; lseek and FIEMAP too) looks at the whole file, judged by two oracles: nothing but zeros or "
        "data written at that offset, and acknowledged data is there. At the end all is read again, after a remount "
        "too.",
    .needs = {{"feature", "aio"}},
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
