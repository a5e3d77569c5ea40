// Writes behind gaps past the end of file in flight together, completed in every order, while readers look.
// Contract: no reader ever sees anything but zeros or data written there, and what was acknowledged is there.
#include "cases/stale_data/shared/window.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    look_through(experiment,
                 {.file = {.written = 4 * block},
                  .operations = {direct_write({6 * block, 7 * block}), direct_write({9 * block, 10 * block}),
                                 direct_write({12 * block, 13 * block}), direct_write({15 * block, 16 * block})}});
}

}  // namespace

extern const Case stale_data_gap_window;
const Case stale_data_gap_window{
    .name = "stale_data.gap_window",
    .summary = "looks for stale data while writes with gaps between them are in flight past the end of file",
    .method =
        "On an aged disk on which every sector says where it came from, four direct asynchronous writes are in flight "
        "past the end of file, with gaps before each, while the disk holds all data. They are let go one by one, in "
        "the order of submission, against it, and from the middle outwards; before each, every kind of reader "
        "(buffered, direct, mapped, through a pipe and io_uring; lseek and FIEMAP too) looks at the whole file, "
        "judged by two oracles: nothing but zeros or data written at that offset, and acknowledged data is there. At "
        "the end all is read again, after a remount too.",
    .needs = {{"feature", "aio"}},
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
