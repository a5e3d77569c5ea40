// Writes to some of a few blocks preallocated beyond the end of file are in flight.
// Contract: no reader ever sees anything but zeros or data written there, and what was acknowledged is there.
#include <fcntl.h>

#include "cases/stale_data/shared/window.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    look_through(experiment, {.file = {.allocated = FileState::Allocation{FALLOC_FL_KEEP_SIZE, {0, 8 * block}}},
                              .operations = {direct_write({7 * block, 8 * block}),
                                             buffered_write({3 * block, 4 * block}), datasync()}});
}

}  // namespace

extern const Case stale_data_preallocated_tail_window;
const Case stale_data_preallocated_tail_window{
    .name = "stale_data.preallocated_tail_window",
    .summary = "looks for stale data before writes to some of a few preallocated blocks",
    .method =
        "On an aged disk on which every sector says where it came from, eight blocks are preallocated in an empty "
        "file with KEEP_SIZE, and a direct asynchronous write to the last of them, of which a filesystem may find it "
        "cheaper to zero the others than to split the extent, and then one through the page cache to another of them "
        "with its writeback, are in flight while the disk holds all data. What is held is let go one by one, in the "
        "order of submission, against it, and from the middle outwards; before each, every kind of reader (buffered, "
        "direct, mapped, through a pipe and io_uring; lseek and FIEMAP too) looks at the whole file, judged by two "
        "oracles: nothing but zeros or data written at that offset, and acknowledged data is there. At the end all is "
        "read again, after a remount too.",
    .needs = {{"feature", "aio"}},
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
