// Overwrites one block of a file whose times are old.
// Contract: io_submit(2) returns while its own write is still held.
#include "cases/aio_append/shared/ask.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    ask(experiment, {.file = {.written = 4 * block}, .old_times = true, .writes = {{block, 2 * block}}});
}

}  // namespace

extern const Case aio_append_overwrite_old_times;
const Case aio_append_overwrite_old_times{
    .name = "aio_append.overwrite_old_times",
    .summary =
        "asks whether io_submit waits for an overwrite that has the file's times to change, and what RWF_NOWAIT and "
        "io_uring make of it",
    .method =
        "As aio_append.overwrite, on a file whose times were set to the year 2001: the write has to change them, "
        "which is a change of metadata that other overwrites do not make within the same tick of the clock.",
    .needs = aio_append_needs(),
    .disk = aio_append_disk,
    .run = run,
};

}  // namespace holdfast::cases
