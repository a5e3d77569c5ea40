// A file is preallocated around and beyond appends in flight.
// Contract: no reader ever sees anything but zeros or data written there, what was acknowledged is there, and what was cut
// off or turned into zeros never shows again.
#include <fcntl.h>

#include "cases/stale_data/shared/window.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    look_through(experiment, {.file = {.written = 4 * block},
                              .operations = {direct_write({4 * block, 5 * block}),
                                             allocate(FALLOC_FL_KEEP_SIZE, {2 * block, 8 * block}),
                                             allocate(0, {3 * block, 12 * block}), direct_write({6 * block, 7 * block}),
                                             direct_write({12 * block, 13 * block})}});
}

}  // namespace

extern const Case stale_data_fallocate_window;
const Case stale_data_fallocate_window{
    .name = "stale_data.fallocate_window",
    .summary = "looks for stale and lost data while fallocate runs around and beyond appends in flight",
    .method =
        "On an aged disk on which every sector says where it came from, a direct append is in flight while the disk "
        "holds all data; then fallocate(2) preallocates across it, with and without KEEP_SIZE, and a write into what "
        "it made and an append behind follow. What is held is let go one by one, in the order of submission, against "
        "it, and from the middle outwards; before each, every kind of reader (buffered, direct, mapped, through a "
        "pipe and io_uring; lseek and FIEMAP too) looks at the whole file, judged by two oracles: nothing but zeros "
        "or data written at that offset, and acknowledged data is there. At the end all is read again, after a "
        "remount too.",
    .needs = {{"feature", "aio"}},
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
