// Overwrites a block of a file of many extents that has not been touched since the filesystem was mounted.
// Contract: io_submit(2) returns while what it needs of the file's metadata is still held.
#include "cases/aio_append/shared/ask.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    const auto end = 2 * pieces_of_a_cold_file * block - block;
    const auto middle = pieces_of_a_cold_file * block;
    ask(experiment, {.file = {.written = end, .pieces = block}, .cold = true, .writes = {{middle, middle + block}}});
}

}  // namespace

extern const Case aio_append_cold_overwrite;
const Case aio_append_cold_overwrite{
    .name = "aio_append.cold_overwrite",
    .summary = "asks whether io_submit waits for metadata to be read when it overwrites a block right after the mount",
    .method =
        "As aio_append.cold_append, but overwrites a block in the middle of the file: where that lies has to be read "
        "from the disk before it can be written.",
    .needs = aio_append_needs(),
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
