// Writes into an unwritten extent below end of file.
// Contract: io_submit(2) returns while its own write is still held.
#include "cases/aio_append/shared/ask.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    ask(experiment, {.file = {.written = 4 * block, .allocated = FileState::Allocation{0, {4 * block, 16 * block}}},
                     .writes = {{8 * block, 9 * block}}});
}

}  // namespace

extern const Case aio_append_unwritten;
const Case aio_append_unwritten{
    .name = "aio_append.unwritten",
    .summary = "asks whether io_submit waits when it writes into a preallocated block below end of file",
    .method =
        "Writes four blocks and preallocates twelve more with fallocate, which moves the end of file, then submits a "
        "direct write into the middle of them: what a database does that preallocates its log. It is one of the "
        "remedies where appends block.",
    .needs = aio_append_needs(),
    .disk = aio_append_disk,
    .run = run,
};

}  // namespace holdfast::cases
