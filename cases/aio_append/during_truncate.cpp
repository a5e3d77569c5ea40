// Appends one block while an ftruncate(2) of the file waits for a write in flight.
// Contract: io_submit(2) returns while its own write is still held.
#include "cases/aio_append/shared/ask.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    ask(experiment, {.file = {.written = 4 * block},
                     .earlier = {{0, block}},
                     .meanwhile = Meanwhile::truncate,
                     .writes = {{4 * block, 5 * block}}});
}

}  // namespace

extern const Case aio_append_during_truncate;
const Case aio_append_during_truncate{
    .name = "aio_append.during_truncate",
    .summary = "asks whether an append waits for an ftruncate of the same file",
    .method =
        "An overwrite is in flight, and an ftruncate that moves the end of file further out has been called, which "
        "may have to wait for it; then a write at the old end of file.",
    .needs = aio_append_needs(),
    .disk = aio_append_disk,
    .run = run,
};

}  // namespace holdfast::cases
