// Appends into blocks that were preallocated without moving the end of file.
// Contract: io_submit(2) returns while its own write is still held.
#include <fcntl.h>

#include "cases/aio_append/shared/ask.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    ask(experiment, {.file = {.written = 4 * block,
                              .allocated = FileState::Allocation{FALLOC_FL_KEEP_SIZE, {4 * block, 16 * block}}},
                     .writes = {{4 * block, 5 * block}}});
}

}  // namespace

extern const Case aio_append_keep_size;
const Case aio_append_keep_size{
    .name = "aio_append.keep_size",
    .summary = "asks whether io_submit waits when it appends into blocks preallocated with FALLOC_FL_KEEP_SIZE",
    .method =
        "Writes four blocks and preallocates twelve more with FALLOC_FL_KEEP_SIZE, so that the end of file stays, "
        "then submits a direct write at end of file, into the first of them.",
    .needs = aio_append_needs(),
    .disk = aio_append_disk,
    .run = run,
};

}  // namespace holdfast::cases
