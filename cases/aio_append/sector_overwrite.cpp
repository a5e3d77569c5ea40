// Overwrites one sector of a block that holds data.
// Contract: io_submit(2) returns while its own write is still held.
#include "cases/aio_append/shared/ask.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    ask(experiment, {.file = {.written = 4 * block}, .writes = {{block + sector_size, block + 2 * sector_size}}});
}

}  // namespace

extern const Case aio_append_sector_overwrite;
const Case aio_append_sector_overwrite{
    .name = "aio_append.sector_overwrite",
    .summary = "asks whether io_submit waits when it overwrites a single sector, less than a block",
    .method = "As aio_append.overwrite, with a direct write of 512 bytes.",
    .needs = aio_append_needs(),
    .disk = aio_append_disk,
    .run = run,
};

}  // namespace holdfast::cases
