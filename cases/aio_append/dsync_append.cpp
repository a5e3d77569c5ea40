// Appends one block through a descriptor that is O_DSYNC.
// Contract: io_submit(2) returns while its own write is still held, and a power cut after its completion loses neither the data nor the size.
#include <fcntl.h>

#include "cases/aio_append/shared/ask.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    ask(experiment, {.file = {.written = 4 * block}, .open_flags = O_DSYNC, .writes = {{4 * block, 5 * block}}});
}

}  // namespace

extern const Case aio_append_dsync_append;
const Case aio_append_dsync_append{
    .name = "aio_append.dsync_append",
    .summary = "asks whether io_submit waits for an O_DSYNC append, and whether its completion keeps its promise",
    .method =
        "As aio_append.at_eof, on a file opened with O_DSYNC. In the moment in which the completion is seen, the "
        "disk's log says what a power cut would leave if everything were lost that no flush had covered; a filesystem "
        "with just that is mounted, and must have the new size and the data.",
    .needs = aio_append_needs(),
    .disk = aio_append_disk,
    .run = run,
};

}  // namespace holdfast::cases
