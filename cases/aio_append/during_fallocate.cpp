// Appends one block while a fallocate(2) of the file waits for a write in flight.
// Contract: io_submit(2) returns while its own write is still held.
#include "cases/aio_append/shared/ask.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    ask(experiment, {.file = {.written = 4 * block},
                     .earlier = {{0, block}},
                     .meanwhile = Meanwhile::fallocate,
                     .writes = {{4 * block, 5 * block}}});
}

}  // namespace

extern const Case aio_append_during_fallocate;
const Case aio_append_during_fallocate{
    .name = "aio_append.during_fallocate",
    .summary = "asks whether an append waits for a fallocate of the same file",
    .method =
        "An overwrite is in flight, and a fallocate with FALLOC_FL_KEEP_SIZE has been called, which may have to wait "
        "for it; then as aio_append.at_eof.",
    .needs = aio_append_needs(),
    .disk = aio_append_disk,
    .run = run,
};

}  // namespace holdfast::cases
