// A file is cut short and grows again while direct writes to what is cut off are in flight.
// Contract: no reader ever sees anything but zeros or data written there, what was acknowledged is there, and what was cut
// off or turned into zeros never shows again.
#include "cases/stale_data/shared/window.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    look_through(experiment, {.file = {.written = 16 * block},
                              .operations = {direct_write({2 * block, 3 * block}), direct_write({8 * block, 9 * block}),
                                             truncate_to(6 * block), truncate_to(12 * block),
                                             direct_write({10 * block, 11 * block})}});
}

}  // namespace

extern const Case stale_data_truncate_window;
const Case stale_data_truncate_window{
    .name = "stale_data.truncate_window",
    .summary = "looks for stale and lost data while a file with writes in flight is cut short and grows again",
    .method =
        "On an aged disk on which every sector says where it came from, direct writes onto data are in flight while "
        "the disk holds all data; then ftruncate(2) cuts off what one of them writes to, another moves the end of "
        "file out again, and a write follows it. What is held is let go one by one, in the order of submission, "
        "against it, and from the middle outwards; before each, every kind of reader (buffered, direct, through a "
        "pipe and io_uring; lseek and FIEMAP too) looks at the whole file, judged by two oracles: nothing but zeros "
        "or data written at that offset, and acknowledged data is there. At the end all is read again, after a "
        "remount too. The file must have a size that some order of the calls gives it.",
    .needs = {{"feature", "aio"}},
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
