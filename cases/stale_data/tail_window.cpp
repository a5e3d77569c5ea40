// A direct write that covers the last, partial block is in flight, and another goes behind a gap after it.
// Contract: no reader ever sees anything but zeros or data written there, and what was acknowledged is there.
#include "cases/stale_data/shared/window.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    look_through(experiment, {.file = {.written = 2 * block + sector_size},
                              .operations = {direct_write({2 * block, 3 * block}), direct_write({5 * block, 6 * block}),
                                             direct_write({6 * block, 6 * block + sector_size})}});
}

}  // namespace

extern const Case stale_data_tail_window;
const Case stale_data_tail_window{
    .name = "stale_data.tail_window",
    .summary =
        "looks for lost data where the last block is partial, a write over it is in flight, and the end of file "
        "moves on",
    .method =
        "On an aged disk on which every sector says where it came from, a file ends inside a block, and a direct "
        "write over all of that block is in flight while the disk holds all data; another one goes behind a gap after "
        "it, for which the filesystem zeroes what lay behind the old end of file, and a third ends inside a block "
        "again. What is held is let go one by one, in the order of submission, against it, and from the middle "
        "outwards; before each, every kind of reader (buffered, direct, mapped, through a pipe and io_uring; lseek "
        "and FIEMAP too) looks at the whole file, judged by two oracles: nothing but zeros or data written at that "
        "offset, and acknowledged data is there. At the end all is read again, after a remount too.",
    .needs = {{"feature", "aio"}},
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
