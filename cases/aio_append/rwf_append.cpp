// Appends one block with RWF_APPEND.
// Contract: io_submit(2) returns while its own write is still held; the write goes to the end of file.
#include <sys/uio.h>

#include "cases/aio_append/shared/ask.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    ask(experiment, {.file = {.written = 4 * block}, .write_flags = RWF_APPEND, .writes = {{4 * block, 5 * block}}});
}

}  // namespace

extern const Case aio_append_rwf_append;
const Case aio_append_rwf_append{
    .name = "aio_append.rwf_append",
    .summary = "asks whether io_submit waits for a write with RWF_APPEND",
    .method = "As aio_append.o_append, with RWF_APPEND on the one write.",
    .needs = aio_append_needs(),
    .disk = aio_append_disk,
    .run = run,
};

}  // namespace holdfast::cases
