// Delayed allocation meets writeback that the disk holds.
// Contract: no reader ever sees anything but zeros or data written there, what was acknowledged is there, and what was cut
// off or turned into zeros never shows again.
#include "cases/stale_data/shared/window.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    look_through(experiment,
                 {.file = {.written = 4 * block, .truncated = 16 * block},
                  .operations = {buffered_write({6 * block, 8 * block}), buffered_write({10 * block, 11 * block}),
                                 buffered_write({16 * block, 20 * block}), datasync(),
                                 buffered_write({24 * block, 25 * block}), datasync()}});
}

}  // namespace

extern const Case stale_data_delalloc_window;
const Case stale_data_delalloc_window{
    .name = "stale_data.delalloc_window",
    .summary = "looks for stale and lost data while delayed allocations are written back",
    .method =
        "On an aged disk on which every sector says where it came from, pages in a hole and behind the end of file "
        "are dirty, with no blocks yet where the filesystem delays allocation; an fdatasync(2) writes them back while "
        "the disk holds all data, and a page further behind and a second fdatasync follow. What is held is let go one "
        "by one, in the order of submission, against it, and from the middle outwards; before each, every kind of "
        "reader (buffered, direct, mapped, through a pipe and io_uring; lseek and FIEMAP too) looks at the whole "
        "file, judged by two oracles: nothing but zeros or data written at that offset, and acknowledged data is "
        "there. At the end all is read again, after a remount too.",
    .needs = {{"feature", "aio"}},
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
