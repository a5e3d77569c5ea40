// Appends one sector at end of file.
// Contract: io_submit(2) returns while its own write is still held.
#include "cases/aio_append/shared/ask.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    ask(experiment, {.file = {.written = 4 * block}, .writes = {{4 * block, 4 * block + sector_size}}});
}

}  // namespace

extern const Case aio_append_sector_append;
const Case aio_append_sector_append{
    .name = "aio_append.sector_append",
    .summary = "asks whether io_submit waits when it appends a single sector, less than a block",
    .method = "As aio_append.at_eof, with a direct write of 512 bytes.",
    .needs = aio_append_needs(),
    .disk = aio_append_disk,
    .run = run,
};

}  // namespace holdfast::cases
