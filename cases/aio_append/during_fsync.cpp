// Appends one block while an fsync(2) of the file is under way.
// Contract: io_submit(2) returns while its own write is still held.
#include "cases/aio_append/shared/ask.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    ask(experiment,
        {.file = {.written = 4 * block}, .meanwhile = Meanwhile::fsync, .writes = {{4 * block, 5 * block}}});
}

}  // namespace

extern const Case aio_append_during_fsync;
const Case aio_append_during_fsync{
    .name = "aio_append.during_fsync",
    .summary = "asks whether an append waits for an fsync of the same file",
    .method =
        "Changes the file's mode and calls fsync while the disk holds every write, so that the fsync waits for the "
        "filesystem's log; then as aio_append.at_eof.",
    .needs = aio_append_needs(),
    .disk = aio_append_disk,
    .run = run,
};

}  // namespace holdfast::cases
