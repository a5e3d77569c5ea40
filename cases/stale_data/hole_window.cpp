// Writes into a hole in flight together, completed in every order, while readers look.
// Contract: no reader ever sees anything but zeros or data written there, and what was acknowledged is there.
#include "cases/stale_data/shared/window.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    look_through(experiment,
                 {.file = {.written = 4 * block, .truncated = 16 * block},
                  .operations = {direct_write({8 * block, 9 * block}), direct_write({9 * block, 10 * block}),
                                 direct_write({10 * block, 11 * block}), direct_write({11 * block, 12 * block})}});
}

}  // namespace

extern const Case stale_data_hole_window;
const Case stale_data_hole_window{
    .name = "stale_data.hole_window",
    .summary = "looks for stale data while writes into a hole are in flight",
    .method =
        "On an aged disk on which every sector says where it came from, four direct asynchronous writes are in flight "
        "into a hole below the end of file, while the disk holds all data. They are let go one by one, in the order "
        "of submission, against it, and from the middle outwards; before each, every kind of reader (buffered, "
        "direct, mapped, through a pipe and io_uring; lseek and FIEMAP too) looks at the whole file, judged by two "
        "oracles: nothing but zeros or data written at that offset, and acknowledged data is there. At the end all is "
        "read again, after a remount too.",
    .needs = {{"feature", "aio"}},
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
