// Writes with RWF_DONTCACHE, whose pages leave the page cache when their writeback ends, which the disk holds.
// Contract: no page leaves that was made dirty again meanwhile, or that another writes to: no reader ever sees anything but
// zeros or data written there, and what was acknowledged is there (preadv2(2): RWF_DONTCACHE).
#include "cases/stale_data/shared/window.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    const auto blocks = [block](std::uint64_t begin, std::uint64_t end) { return Range{begin * block, end * block}; };
    look_through(experiment,
                 {.file = {.written = 8 * block, .truncated = 12 * block},
                  .operations = {uncached_write(blocks(1, 4)), store(blocks(2, 3)), uncached_write(blocks(3, 5)),
                                 buffered_write(blocks(4, 6)), uncached_write(blocks(10, 14)), datasync()}});
}

}  // namespace

extern const Case stale_data_uncached_window;
const Case stale_data_uncached_window{
    .name = "stale_data.uncached_window",
    .summary = "writes to pages again while they are under the writeback after which RWF_DONTCACHE drops them",
    .method =
        "On an aged disk on which every sector says where it came from, pwritev2(2) with RWF_DONTCACHE writes onto "
        "data, into a hole and at the end of file, which begins writeback at once, while the disk holds all data; a "
        "mapping stores to some of these pages meanwhile, and others are written once more, with the flag and without. "
        "What is held is let go one by one, in the order of submission, against it, and from the middle outwards; "
        "before each, every kind of reader (buffered, direct, mapped, through a pipe and io_uring, with RWF_DONTCACHE; "
        "lseek and FIEMAP too) looks at the whole file, judged by two oracles: nothing but zeros or data written at "
        "that offset, and acknowledged data is there. At the end all is read again, after a remount too.",
    .needs = {{"feature", "aio"}},
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
