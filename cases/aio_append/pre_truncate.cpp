// Writes at the end of the data in a file that was truncated to its full size beforehand.
// Contract: io_submit(2) returns while its own write is still held.
#include "cases/aio_append/shared/ask.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    ask(experiment, {.file = {.written = 4 * block, .truncated = 16 * block}, .writes = {{4 * block, 5 * block}}});
}

}  // namespace

extern const Case aio_append_pre_truncate;
const Case aio_append_pre_truncate{
    .name = "aio_append.pre_truncate",
    .summary = "asks whether io_submit waits when ftruncate has moved the end of file out of the way",
    .method =
        "Writes four blocks, moves the end of file behind the sixteenth with ftruncate, then submits a direct write "
        "of the fifth: no append any more. It is one of the remedies where appends block, and what some engines do.",
    .needs = aio_append_needs(),
    .disk = aio_append_disk,
    .run = run,
};

}  // namespace holdfast::cases
