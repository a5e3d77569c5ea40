// Writes over the end of the written blocks into unwritten ones, below end of file.
// Contract: io_submit(2) returns while its own write is still held; with RWF_NOWAIT it writes all or nothing.
#include <fcntl.h>

#include "cases/aio_append/shared/ask.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    ask(experiment, {.file = {.written = 4 * block, .allocated = FileState::Allocation{0, {4 * block, 16 * block}}},
                     .writes = {{3 * block, 5 * block}}});
}

}  // namespace

extern const Case aio_append_across_unwritten;
const Case aio_append_across_unwritten{
    .name = "aio_append.across_unwritten",
    .summary = "asks whether io_submit waits when a write begins in written and ends in preallocated blocks",
    .method =
        "Writes four blocks and preallocates twelve more with fallocate, which moves the end of file, then submits a "
        "direct write of the fourth and the fifth: it needs two requests to the disk, and one of them changes the "
        "extents. With RWF_NOWAIT it must be written whole or not at all.",
    .needs = aio_append_needs(),
    .disk = aio_append_disk,
    .run = run,
};

}  // namespace holdfast::cases
