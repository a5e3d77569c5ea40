// Direct writes that go across data and holes are in flight.
// Contract: no reader ever sees anything but zeros or data written there, and what was acknowledged is there.
#include "cases/stale_data/shared/window.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    look_through(experiment,
                 {.file = {.written = 8 * block, .punched = Range{2 * block, 4 * block}, .truncated = 16 * block},
                  .operations = {direct_write({block, 3 * block}), direct_write({3 * block, 6 * block}),
                                 direct_write({7 * block, 10 * block})}});
}

}  // namespace

extern const Case stale_data_mixed_window;
const Case stale_data_mixed_window{
    .name = "stale_data.mixed_window",
    .summary = "looks for stale and lost data while writes are in flight that go across data and holes",
    .method =
        "On an aged disk on which every sector says where it came from, each of three direct asynchronous writes goes "
        "across data and a hole, one way or the other, and all are in flight while the disk holds all data. What is "
        "held is let go one by one, in the order of submission, against it, and from the middle outwards; before "
        "each, every kind of reader (buffered, direct, mapped, through a pipe and io_uring; lseek and FIEMAP too) "
        "looks at the whole file, judged by two oracles: nothing but zeros or data written at that offset, and "
        "acknowledged data is there. At the end all is read again, after a remount too.",
    .needs = {{"feature", "aio"}},
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
