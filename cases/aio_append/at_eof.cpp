// Appends one block at end of file while the disk holds every write.
// Contract: io_submit(2) returns while its own write is still held.
#include "cases/aio_append/shared/ask.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    ask(experiment, {.file = {.written = 4 * block}, .writes = {{4 * block, 5 * block}}});
}

}  // namespace

extern const Case aio_append_at_eof;
const Case aio_append_at_eof{
    .name = "aio_append.at_eof",
    .summary = "asks whether io_submit waits for the write when it appends one block at end of file",
    .method =
        "Writes four blocks, then submits a direct write of a fifth at end of file while the disk holds every write. "
        "A submission that has not returned while its own write is held, and sleeps, is blocked; its kernel stack "
        "says where. Then the write is let go; it must complete in full, the file must have grown by it, and the data "
        "must be there. The same is asked with RWF_NOWAIT, through io_uring, and of pwritev2.",
    .needs = aio_append_needs(),
    .disk = aio_append_disk,
    .run = run,
};

}  // namespace holdfast::cases
