// Appends one block to a file of many extents that has not been touched since the filesystem was mounted.
// Contract: io_submit(2) returns while what it needs of the file's metadata is still held.
#include "cases/aio_append/shared/ask.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    const auto end = 2 * pieces_of_a_cold_file * block - block;
    ask(experiment, {.file = {.written = end, .pieces = block}, .cold = true, .writes = {{end, end + block}}});
}

}  // namespace

extern const Case aio_append_cold_append;
const Case aio_append_cold_append{
    .name = "aio_append.cold_append",
    .summary = "asks whether io_submit waits for metadata to be read when it appends to a file right after the mount",
    .method =
        "Writes a file of hundreds of extents, mounts the filesystem anew, and submits a direct write of one block at "
        "end of file while the disk holds every read and every write. Where the submission blocks, the reads are let "
        "go first, then its own write: what it waits for is told apart.",
    .needs = aio_append_needs(),
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
