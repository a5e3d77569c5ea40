// Planted: a case that sleeps inside the kernel, and cannot be interrupted there.
#include <vector>

#include "cases/case.h"
#include "cases/experiment.h"
#include "fixtures/io/file.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    auto& filesystem = experiment.filesystem();
    std::vector<std::byte> data(64 * KiB);
    fill_data(data, {1, 1}, 0);
    const auto file = File::create(filesystem.root() / "file");
    file.write_at(0, data);
    experiment.observe("planted", "hang in kernel");
    const auto hold = filesystem.disk().hold_writes();
    file.sync();
}

}  // namespace

extern const Case planted_hang_in_kernel;
const Case planted_hang_in_kernel{
    .name = "planted.hang_in_kernel",
    .summary = "waits in fsync for writes that the disk holds",
    .method = "Holds the disk's writes, whose bound is far past this case's, and calls fsync(2).",
    .needs = {{"feature", "write_hold"}},
    .time_bound = std::chrono::seconds{2},
    .run = run,
};

}  // namespace holdfast::cases
