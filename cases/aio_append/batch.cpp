// Appends four blocks with one io_submit(2).
// Contract: io_submit(2) returns while all four writes are held.
#include "cases/aio_append/shared/ask.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    ask(experiment,
        {.file = {.written = 4 * block},
         .writes = {{4 * block, 5 * block}, {5 * block, 6 * block}, {6 * block, 7 * block}, {7 * block, 8 * block}}});
}

}  // namespace

extern const Case aio_append_batch;
const Case aio_append_batch{
    .name = "aio_append.batch",
    .summary = "asks whether io_submit waits when it appends four blocks at once",
    .method = "As aio_append.at_eof, with four requests, one behind the other, in one call.",
    .needs = aio_append_needs(),
    .disk = aio_append_disk,
    .run = run,
};

}  // namespace holdfast::cases
