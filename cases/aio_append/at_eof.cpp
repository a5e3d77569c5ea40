// Appends one block at end of file while the disk holds every write.
// Contract: io_submit(2) returns while its own write is still held.
#include <array>

#include <fcntl.h>

#include "cases/aio_append/shared/held_write.h"
#include "cases/case.h"
#include "fixtures/io/warm_up.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    auto& filesystem = experiment.filesystem();
    constexpr FileTag tag{.file = 1, .generation = 1};
    const auto block = block_size(filesystem);
    const auto size = 4 * block;

    const auto log = File::create(filesystem.root() / "log", O_DIRECT);
    AlignedBuffer data{size};
    fill_data(data.bytes(), tag, 0);
    log.write_at(0, data.bytes());
    warm_up(filesystem.root());

    AlignedBuffer added{block};
    fill_data(added.bytes(), tag, size);
    AioContext aio{1};
    std::array append{prepare_write(log, size, added.bytes())};
    const auto held = submit_while_held(filesystem.disk(), aio, append);

    observe_submission(experiment, held);
    observe_result(experiment, held, log, tag, size, block, size + block);
}

}  // namespace

extern const Case aio_append_at_eof;
const Case aio_append_at_eof{
    .name = "aio_append.at_eof",
    .summary = "asks whether io_submit waits for the write when it appends one block at end of file",
    .method =
        "Writes four blocks, then submits a direct write of a fifth at end of file while the disk holds every "
        "write. A submission that has not returned while its own write is held, and sleeps, is blocked; its kernel "
        "stack says where. Then the write is let go; it must complete in full, the file must have grown by "
        "it, and the data must be there.",
    .needs = {{"feature", "aio"}, {"feature", "write_hold"}},
    .run = run,
};

}  // namespace holdfast::cases
