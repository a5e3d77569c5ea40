// Overwrites one block below end of file while the disk holds every write: the control of this family.
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
    constexpr FileTag old_tag{.file = 1, .generation = 1};
    constexpr FileTag new_tag{.file = 1, .generation = 2};
    const auto block = block_size(filesystem);
    const auto size = 4 * block;

    const auto log = File::create(filesystem.root() / "log", O_DIRECT);
    AlignedBuffer data{size};
    fill_data(data.bytes(), old_tag, 0);
    log.write_at(0, data.bytes());
    warm_up(filesystem.root());

    AlignedBuffer changed{block};
    fill_data(changed.bytes(), new_tag, block);
    AioContext aio{1};
    std::array overwrite{prepare_write(log, block, changed.bytes())};
    const auto held = submit_while_held(filesystem.disk(), aio, overwrite);

    observe_submission(experiment, held);
    observe_result(experiment, held, log, new_tag, block, block, size);
}

}  // namespace

extern const Case aio_append_overwrite;
const Case aio_append_overwrite{
    .name = "aio_append.overwrite",
    .summary = "asks whether io_submit waits for the write when it overwrites a block that is already there",
    .method =
        "As aio_append.at_eof, but the write lies below end of file, on a block that holds data. It is the control "
        "of this family: where it blocks, appends say nothing about appending.",
    .needs = {{"feature", "aio"}, {"feature", "write_hold"}},
    .run = run,
};

}  // namespace holdfast::cases
