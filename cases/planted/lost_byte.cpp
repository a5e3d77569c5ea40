// Planted: one sector of zeros where a file's data should be.
#include <vector>

#include "cases/case.h"
#include "cases/planted/shared/altered_sector.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) { observe_altered_sector(experiment, std::vector<std::byte>(sector_size)); }

}  // namespace

extern const Case planted_lost_byte;
const Case planted_lost_byte{
    .name = "planted.lost_byte",
    .summary = "reads a file under which one sector has been replaced by zeros",
    .method = "Writes a file, finds one of its sectors in the image, and writes zeros over it, beneath the filesystem.",
    .needs = {},
    .run = run,
};

}  // namespace holdfast::cases
