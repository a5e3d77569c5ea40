// Ranges are zeroed while direct writes to them and beside them are in flight.
// Contract: no reader ever sees anything but zeros or data written there, what was acknowledged is there, and what was cut
// off or turned into zeros never shows again.
#include <fcntl.h>

#include "cases/stale_data/shared/window.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    look_through(
        experiment,
        {.file = {.written = 16 * block},
         .operations = {direct_write({2 * block, 3 * block}), direct_write({6 * block, 7 * block}),
                        zero(FALLOC_FL_ZERO_RANGE, {2 * block + sector_size, 5 * block + sector_size}),
                        zero(FALLOC_FL_ZERO_RANGE, {8 * block, 12 * block}), direct_write({9 * block, 10 * block})}});
}

}  // namespace

extern const Case stale_data_zero_range_window;
const Case stale_data_zero_range_window{
    .name = "stale_data.zero_range_window",
    .summary = "looks for stale and lost data while ranges are zeroed under writes in flight",
    .method =
        "On an aged disk on which every sector says where it came from, direct writes onto data are in flight while "
        "the disk holds all data; then fallocate(2) zeroes a range that begins and ends inside a block and takes in "
        "one of them, and another range, to which a write follows. What is held is let go one by one, in the order of "
        "submission, against it, and from the middle outwards; before each, every kind of reader (buffered, direct, "
        "mapped, through a pipe and io_uring; lseek and FIEMAP too) looks at the whole file, judged by two oracles: "
        "nothing but zeros or data written at that offset, and acknowledged data is there. At the end all is read "
        "again, after a remount too.",
    .needs = {{"feature", "aio"}},
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
