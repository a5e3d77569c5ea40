// Planted: one sector whose second half was never written.
#include <algorithm>
#include <span>
#include <vector>

#include "cases/case.h"
#include "cases/planted/shared/altered_sector.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    constexpr auto half = sector_size / 2;
    std::vector<std::byte> data(sector_size);
    fill_data(data, {1, 1}, altered_offset);
    std::vector<std::byte> poison(sector_size);
    fill_poison(poison, 81'920);
    std::ranges::copy(std::span{poison}.last(half), data.end() - half);
    observe_altered_sector(experiment, data);
}

}  // namespace

extern const Case planted_torn_sector;
const Case planted_torn_sector{
    .name = "planted.torn_sector",
    .summary = "reads a file in which the second half of one sector is poison",
    .method =
        "Writes a file, finds one of its sectors in the image, and writes poison over half of it, beneath the "
        "filesystem.",
    .needs = {},
    .run = run,
};

}  // namespace holdfast::cases
