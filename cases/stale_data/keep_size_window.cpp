// Appends into preallocated blocks in flight together, completed in every order, while readers look.
// Contract: no reader ever sees anything but zeros or data written there, and what was acknowledged is there.
#include <fcntl.h>

#include "cases/stale_data/shared/window.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    look_through(experiment,
                 {.file = {.written = 4 * block,
                           .allocated = FileState::Allocation{FALLOC_FL_KEEP_SIZE, {4 * block, 16 * block}}},
                  .operations = {direct_write({4 * block, 5 * block}), direct_write({5 * block, 6 * block}),
                                 direct_write({6 * block, 7 * block}), direct_write({7 * block, 8 * block})}});
}

}  // namespace

extern const Case stale_data_keep_size_window;
const Case stale_data_keep_size_window{
    .name = "stale_data.keep_size_window",
    .summary = "looks for stale data while appends into blocks preallocated beyond the end of file are in flight",
    .method =
        "On an aged disk on which every sector says where it came from, four direct asynchronous writes are in flight "
        "at end of file, into blocks preallocated with FALLOC_FL_KEEP_SIZE, while the disk holds all data. They are "
        "let go one by one, in the order of submission, against it, and from the middle outwards; before each, every "
        "kind of reader (buffered, direct, mapped, through a pipe and io_uring; lseek and FIEMAP too) looks at the "
        "whole file, judged by two oracles: nothing but zeros or data written at that offset, and acknowledged data "
        "is there. At the end all is read again, after a remount too.",
    .needs = {{"feature", "aio"}},
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
