// Appends a block behind a gap past end of file.
// Contract: io_submit(2) returns while its own write is still held, and the gap reads as zeros.
#include "cases/aio_append/shared/ask.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    ask(experiment, {.file = {.written = 4 * block}, .writes = {{8 * block, 9 * block}}});
}

}  // namespace

extern const Case aio_append_gap;
const Case aio_append_gap{
    .name = "aio_append.gap",
    .summary = "asks whether io_submit waits when it writes a block some blocks behind end of file",
    .method =
        "As aio_append.at_eof, but the write begins four blocks behind end of file, so that the filesystem must see "
        "to the range in between. That range must read as zeros afterwards.",
    .needs = aio_append_needs(),
    .disk = aio_append_disk,
    .run = run,
};

}  // namespace holdfast::cases
