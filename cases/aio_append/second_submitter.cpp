// Overwrites a block while an append to the same file is in flight.
// Contract: io_submit(2) returns while both writes are held.
#include "cases/aio_append/shared/ask.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    ask(experiment,
        {.file = {.written = 4 * block}, .earlier = {{4 * block, 5 * block}}, .writes = {{block, 2 * block}}});
}

}  // namespace

extern const Case aio_append_second_submitter;
const Case aio_append_second_submitter{
    .name = "aio_append.second_submitter",
    .summary = "asks whether an append in flight stalls another thread that overwrites a block of the same file",
    .method =
        "An append is submitted by one thread while the disk holds every write, and another thread then submits an "
        "overwrite, which would not wait by itself.",
    .needs = aio_append_needs(),
    .disk = aio_append_disk,
    .run = run,
};

}  // namespace holdfast::cases
