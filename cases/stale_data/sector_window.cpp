// Writes of single sectors into the same blocks in flight together, completed in every order, while readers look.
// Contract: no reader ever sees anything but zeros or data written there, and what was acknowledged is there.
#include "cases/stale_data/shared/window.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    look_through(experiment,
                 {.file = {.written = 4 * block, .truncated = 16 * block},
                  .operations = {direct_write({4 * block + sector_size, 4 * block + 2 * sector_size}),
                                 direct_write({4 * block + 3 * sector_size, 4 * block + 4 * sector_size}),
                                 direct_write({8 * block, 8 * block + sector_size}),
                                 direct_write({8 * block + 2 * sector_size, 8 * block + 3 * sector_size})}});
}

}  // namespace

extern const Case stale_data_sector_window;
const Case stale_data_sector_window{
    .name = "stale_data.sector_window",
    .summary = "looks for stale and lost data while several writes of less than a block go to one block",
    .method =
        "On an aged disk on which every sector says where it came from, four direct asynchronous writes are in "
        "flight, two and two into one block of a hole, each of 512 bytes, while the disk holds all data. They are let "
        "go one by one, in the order of submission, against it, and from the middle outwards; before each, every kind "
        "of reader (buffered, direct, mapped, through a pipe and io_uring; lseek and FIEMAP too) looks at the whole "
        "file, judged by two oracles: nothing but zeros or data written at that offset, and acknowledged data is "
        "there. At the end all is read again, after a remount too.",
    .needs = {{"feature", "aio"}},
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
