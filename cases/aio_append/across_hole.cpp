// Writes over the end of the written blocks into a hole, below end of file.
// Contract: io_submit(2) returns while its own write is still held; with RWF_NOWAIT it writes all or nothing.
#include "cases/aio_append/shared/ask.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    ask(experiment, {.file = {.written = 4 * block, .truncated = 16 * block}, .writes = {{3 * block, 5 * block}}});
}

}  // namespace

extern const Case aio_append_across_hole;
const Case aio_append_across_hole{
    .name = "aio_append.across_hole",
    .summary = "asks whether io_submit waits when a write begins in written blocks and ends in a hole",
    .method =
        "Writes four blocks and moves the end of file behind the sixteenth with ftruncate, then submits a direct "
        "write of the fourth and the fifth, of which only one is allocated. With RWF_NOWAIT it must be written whole "
        "or not at all.",
    .needs = aio_append_needs(),
    .disk = aio_append_disk,
    .run = run,
};

}  // namespace holdfast::cases
