// Appends one block through a descriptor that is O_APPEND.
// Contract: io_submit(2) returns while its own write is still held; the write goes to the end of file.
#include <fcntl.h>

#include "cases/aio_append/shared/ask.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    ask(experiment, {.file = {.written = 4 * block}, .open_flags = O_APPEND, .writes = {{4 * block, 5 * block}}});
}

}  // namespace

extern const Case aio_append_o_append;
const Case aio_append_o_append{
    .name = "aio_append.o_append",
    .summary = "asks whether io_submit waits when the descriptor is O_APPEND",
    .method =
        "As aio_append.at_eof, on a file opened with O_APPEND and with an offset of 0 in the request, which the "
        "kernel must replace with the end of file.",
    .needs = aio_append_needs(),
    .disk = aio_append_disk,
    .run = run,
};

}  // namespace holdfast::cases
