// Planted: metadata overwritten beneath the filesystem.
#include "cases/case.h"
#include "cases/experiment.h"
#include "cases/planted/shared/beneath.h"
#include "fixtures/io/file.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    auto& filesystem = experiment.filesystem();
    constexpr auto* name = "a-name-that-is-nowhere-else-on-the-disk";
    File::create(filesystem.root() / name).sync();
    filesystem.remount();  // now it is in its place, and no longer only in the journal

    std::vector<std::byte> poison(sector_size);
    fill_poison(poison, 0);
    overwrite_beneath(filesystem.disk(), find_text(filesystem.disk(), name), poison);
    experiment.observe("planted", "damage");
}

}  // namespace

extern const Case planted_damage;
const Case planted_damage{
    .name = "planted.damage",
    .summary = "overwrites a directory beneath the filesystem, for the checker to find",
    .method = "Makes a file, finds its directory entry in the image by the name, and writes poison over that sector.",
    .needs = {},
    .run = run,
};

}  // namespace holdfast::cases
