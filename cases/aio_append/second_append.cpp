// Appends a block while the append before it is still in flight.
// Contract: io_submit(2) returns while both writes are held.
#include "cases/aio_append/shared/ask.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    ask(experiment,
        {.file = {.written = 4 * block}, .earlier = {{4 * block, 5 * block}}, .writes = {{5 * block, 6 * block}}});
}

}  // namespace

extern const Case aio_append_second_append;
const Case aio_append_second_append{
    .name = "aio_append.second_append",
    .summary = "asks whether io_submit waits for the append before it when it appends another block",
    .method =
        "Two appends, one behind the other, each submitted by a thread of its own, while the disk holds every write. "
        "What the second one waits for is let go first: the write before it, then its own.",
    .needs = aio_append_needs(),
    .disk = aio_append_disk,
    .run = run,
};

}  // namespace holdfast::cases
