// Planted: a case that waits for a write which the held disk holds.
#include <fcntl.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "fixtures/io/file.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    auto& filesystem = experiment.filesystem();
    AlignedBuffer data{64 * KiB};
    fill_data(data.bytes(), {1, 1}, 0);
    const auto file = File::create(filesystem.root() / "file", O_DIRECT);
    experiment.observe("planted", "held write");
    const auto hold = filesystem.disk().hold_writes();
    file.write_at(0, data.bytes());
}

}  // namespace

extern const Case planted_held_write;
const Case planted_held_write{
    .name = "planted.held_write",
    .summary = "waits in pwrite for writes that the disk holds",
    .method = "Holds the disk's writes and calls pwrite(2) on a descriptor with O_DIRECT.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
