// Direct writes go to pages that are dirty, or under writeback that the disk holds.
// Contract: no reader ever sees anything but zeros or data written there, what was acknowledged is there, and what was cut
// off or turned into zeros never shows again.
#include "cases/stale_data/shared/window.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    look_through(experiment,
                 {.file = {.written = 8 * block},
                  .operations = {buffered_write({block, 3 * block}), buffered_write({8 * block, 10 * block}),
                                 datasync(), direct_write({2 * block, 4 * block}),
                                 buffered_write({5 * block, 6 * block}), direct_write({9 * block, 11 * block})}});
}

}  // namespace

extern const Case stale_data_writeback_window;
const Case stale_data_writeback_window{
    .name = "stale_data.writeback_window",
    .summary = "looks for stale and lost data while direct writes meet dirty pages and writeback in flight",
    .method =
        "On an aged disk on which every sector says where it came from, pages onto data and behind the end of file "
        "are dirty, and an fdatasync(2) writes them back, while the disk holds all data; then direct writes go to "
        "parts of them, and another page is made dirty in between. What is held is let go one by one, in the order of "
        "submission, against it, and from the middle outwards; before each, every kind of reader (buffered, direct, "
        "mapped, through a pipe and io_uring; lseek and FIEMAP too) looks at the whole file, judged by two oracles: "
        "nothing but zeros or data written at that offset, and acknowledged data is there. At the end all is read "
        "again, after a remount too.",
    .needs = {{"feature", "aio"}},
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
