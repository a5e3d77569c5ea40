// Overwrites one block below end of file while the disk holds every write: the control of this family.
// Contract: io_submit(2) returns while its own write is still held.
#include "cases/aio_append/shared/ask.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    ask(experiment, {.file = {.written = 4 * block}, .writes = {{block, 2 * block}}});
}

}  // namespace

extern const Case aio_append_overwrite;
const Case aio_append_overwrite{
    .name = "aio_append.overwrite",
    .summary = "asks whether io_submit waits for the write when it overwrites a block that is already there",
    .method =
        "As aio_append.at_eof, but the write lies below end of file, on a block that holds data. It is the control of "
        "this family: where it blocks, appends say nothing about appending.",
    .needs = aio_append_needs(),
    .disk = aio_append_disk,
    .run = run,
};

}  // namespace holdfast::cases
