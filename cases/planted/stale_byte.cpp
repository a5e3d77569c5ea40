// Planted: one sector of poison where a file's data should be.
#include <vector>

#include "cases/case.h"
#include "cases/planted/shared/altered_sector.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    std::vector<std::byte> poison(sector_size);
    fill_poison(poison, 81'920);
    observe_altered_sector(experiment, poison);
}

}  // namespace

extern const Case planted_stale_byte;
const Case planted_stale_byte{
    .name = "planted.stale_byte",
    .summary = "reads a file under which one sector has been replaced by another's poison",
    .method =
        "Writes a file, finds one of its sectors in the image, and writes poison over it, beneath the filesystem.",
    .needs = {},
    .run = run,
};

}  // namespace holdfast::cases
