// Planted: one sector of poison where a file's data should be.
#include "cases/case.h"
#include "cases/planted/shared/beneath.h"
#include "cases/stale_data/shared/judged_read.h"
#include "cases/stale_data/shared/tracked_file.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    auto& filesystem = experiment.filesystem();
    TrackedFile file{filesystem.root() / "file-1", 1};
    file.write({0, 64 * KiB});
    file.sync();
    file.close();
    filesystem.remount();

    std::vector<std::byte> poison(sector_size);
    fill_poison(poison, 81'920);
    overwrite_beneath(filesystem.disk(), find_data(filesystem.disk(), Data{{1, 1}, 40'960}), poison);

    Findings findings;
    judge_whole_file(file.path(), file.content(), findings);
    observe_findings(experiment, findings);
}

}  // namespace

extern const Case planted_stale_byte;
const Case planted_stale_byte{
    .name = "planted.stale_byte",
    .summary = "reads a file under which one sector has been replaced by another's poison",
    .method =
        "Writes a file, finds one of its sectors in the image by what it says of itself, and writes poison over it, "
        "beneath the filesystem.",
    .needs = {},
    .run = run,
};

}  // namespace holdfast::cases
