// Writes one sector into an unwritten extent below end of file.
// Contract: io_submit(2) returns while its own write is still held, and the rest of the block reads as zeros.
#include "cases/aio_append/shared/ask.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    ask(experiment, {.file = {.written = 4 * block, .allocated = FileState::Allocation{0, {4 * block, 16 * block}}},
                     .writes = {{8 * block + sector_size, 8 * block + 2 * sector_size}}});
}

}  // namespace

extern const Case aio_append_sector_unwritten;
const Case aio_append_sector_unwritten{
    .name = "aio_append.sector_unwritten",
    .summary = "asks whether io_submit waits when it writes a single sector into a preallocated block",
    .method =
        "As aio_append.unwritten, with a direct write of 512 bytes in the middle of a block, whose other sectors must "
        "read as zeros afterwards.",
    .needs = aio_append_needs(),
    .disk = aio_append_disk,
    .run = run,
};

}  // namespace holdfast::cases
