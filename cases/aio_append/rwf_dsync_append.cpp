// Appends one block with RWF_DSYNC.
// Contract: io_submit(2) returns while its own write is still held, and a power cut after its completion loses neither the data nor the size.
#include <sys/uio.h>

#include "cases/aio_append/shared/ask.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    ask(experiment, {.file = {.written = 4 * block}, .write_flags = RWF_DSYNC, .writes = {{4 * block, 5 * block}}});
}

}  // namespace

extern const Case aio_append_rwf_dsync_append;
const Case aio_append_rwf_dsync_append{
    .name = "aio_append.rwf_dsync_append",
    .summary =
        "asks whether io_submit waits for an append with RWF_DSYNC, and whether its completion keeps its promise",
    .method = "As aio_append.dsync_append, with RWF_DSYNC on the one write in place of O_DSYNC on the descriptor.",
    .needs = aio_append_needs(),
    .disk = aio_append_disk,
    .run = run,
};

}  // namespace holdfast::cases
