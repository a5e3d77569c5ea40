// Overwrites one block while an fsync(2) of the file waits for the writeback of another.
// Contract: io_submit(2) returns while its own write is still held.
#include "cases/aio_append/shared/ask.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    ask(experiment,
        {.file = {.written = 16 * block}, .meanwhile = Meanwhile::writeback, .writes = {{block, 2 * block}}});
}

}  // namespace

extern const Case aio_append_during_writeback;
const Case aio_append_during_writeback{
    .name = "aio_append.during_writeback",
    .summary = "asks whether an overwrite waits for an fsync that writes other pages of the same file back",
    .method =
        "Dirties the last page of the file in the page cache and calls fsync while the disk holds every write, so "
        "that the fsync waits for that page; then as aio_append.overwrite.",
    .needs = aio_append_needs(),
    .disk = aio_append_disk,
    .run = run,
};

}  // namespace holdfast::cases
