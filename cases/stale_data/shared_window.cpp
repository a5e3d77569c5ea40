// Overwrites of shared blocks in flight together, completed in every order, while readers look at both files.
// Contract: no reader ever sees anything but data written there, what was acknowledged is there, and the clone stays as it
// was (ioctl_ficlonerange(2): writes to either file do not show in the other).
#include "cases/stale_data/shared/window.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    look_through(experiment,
                 {.file = {.written = 8 * block, .cloned = true},
                  .operations = {direct_write({2 * block, 3 * block}), direct_write({3 * block, 4 * block}),
                                 direct_write({4 * block, 5 * block}), direct_write({5 * block, 6 * block})}});
}

}  // namespace

extern const Case stale_data_shared_window;
const Case stale_data_shared_window{
    .name = "stale_data.shared_window",
    .summary = "looks for stale data in a file and in its clone while overwrites of their shared blocks are in flight",
    .method =
        "On an aged disk on which every sector says where it came from, a file is cloned (FICLONE), and four direct "
        "asynchronous writes are in flight onto blocks that it shares with its clone, while the disk holds all data. "
        "They are let go one by one, in the order of submission, against it, and from the middle outwards; before "
        "each, every kind of reader (buffered, direct, mapped, through a pipe and io_uring; lseek and FIEMAP too) "
        "looks at the whole of both files, judged by two oracles: in the file that is written to, nothing but data "
        "written at that offset, and acknowledged data is there; in the clone, nothing but what it was cloned from. "
        "At the end all is read again, after a remount too.",
    .needs = {{"feature", "aio"}},
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
