// Appends a block to one file while an append to another is in flight.
// Contract: io_submit(2) returns while both writes are held.
#include "cases/aio_append/shared/ask.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    ask(experiment, {.file = {.written = 4 * block},
                     .earlier = {{4 * block, 5 * block}},
                     .earlier_elsewhere = true,
                     .writes = {{4 * block, 5 * block}}});
}

}  // namespace

extern const Case aio_append_two_files;
const Case aio_append_two_files{
    .name = "aio_append.two_files",
    .summary = "asks whether io_submit waits for an append to another file",
    .method =
        "As aio_append.second_append, but the append that is in flight before goes to another file of the same "
        "filesystem.",
    .needs = aio_append_needs(),
    .disk = aio_append_disk,
    .run = run,
};

}  // namespace holdfast::cases
