// Writes into a hole below end of file.
// Contract: io_submit(2) returns while its own write is still held.
#include "cases/aio_append/shared/ask.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    ask(experiment, {.file = {.written = 4 * block, .truncated = 16 * block}, .writes = {{8 * block, 9 * block}}});
}

}  // namespace

extern const Case aio_append_hole;
const Case aio_append_hole{
    .name = "aio_append.hole",
    .summary = "asks whether io_submit waits when it writes into a hole below end of file",
    .method =
        "Writes four blocks and moves the end of file behind the sixteenth with ftruncate, then submits a direct "
        "write of the ninth, which has to be allocated but does not move the end of file.",
    .needs = aio_append_needs(),
    .disk = aio_append_disk,
    .run = run,
};

}  // namespace holdfast::cases
