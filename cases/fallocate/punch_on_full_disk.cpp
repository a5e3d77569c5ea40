// Punches, zeroes and truncates on a filesystem that is full.
// Contract: PUNCH_HOLE and ftruncate(2) give space back, so that they work also where none is left (fallocate(2): ENOSPC is for
// want of space to allocate), and what they gave back can be written to.
#include <cstddef>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "cases/fallocate/shared/mode.h"
#include "cases/fallocate/shared/scene.h"
#include "cases/fallocate/shared/space.h"
#include "fixtures/base/failure.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {

using namespace holdfast::fallocate;

namespace {

constexpr std::uint64_t blocks = 600;
constexpr int punch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;

/// A file of data, and what must be in it.
struct Written {
    File file;
    std::vector<std::byte> content;
    std::uint64_t block;

    Written(const std::filesystem::path& path, std::uint32_t number, std::uint64_t unit)
        : file(File::create(path)), content(blocks * unit), block(unit) {
        fill_data(content, {.file = number, .generation = 1}, 0);
        file.write_at(0, content);
        file.sync();
    }

    /// "works", or what went wrong first.
    [[nodiscard]] std::string change(int mode, std::uint64_t first, std::uint64_t count) {
        if (const int error = file.fallocate(mode, first * block, count * block); error != 0)
            return fmt::format("{} at block {}", error_name(error), first);
        std::fill_n(content.begin() + static_cast<std::ptrdiff_t>(first * block), count * block, std::byte{});
        return "works";
    }
    [[nodiscard]] bool is_right() const {
        std::vector<std::byte> found(content.size());
        return file.size() == content.size() && file.read_at(0, found) == found.size() && found == content;
    }
};

// Of four extents, as many as an inode of ext4 holds: to split one takes a block for them, before any is given back.
File create_of_four_extents(const std::filesystem::path& path, std::uint64_t unit) {
    auto file = File::create(path);
    const std::vector<std::byte> data(3 * unit, std::byte{1});
    for (std::uint64_t extent = 0; extent < 4; ++extent) file.write_at(extent * 4 * unit, data);
    file.sync();
    return file;
}

std::string punch_every_second(Written& written) {
    for (std::uint64_t first = 1; first < blocks; first += 2)
        if (auto outcome = written.change(punch, first, 1); outcome != "works") return outcome;
    written.file.sync();
    return "works";
}

void run(Experiment& experiment) {
    DisposableFilesystem& filesystem = experiment.filesystem();
    const AllocationUnits units = allocation_units(filesystem);
    const auto& root = filesystem.root();
    Written written{root / "written", 1, units.cluster};
    Written zeroed{root / "zeroed", 2, units.cluster};
    const auto truncated = File::create(root / "truncated");
    truncated.write_at(0, written.content);
    const auto split = create_of_four_extents(root / "split", units.cluster);
    const File filler = File::create(root / "filler");
    fill(filler, units.block, 2 * filesystem.disk().size());

    const int error = split.fallocate(punch, units.cluster, units.cluster);
    experiment.observe("PUNCH_HOLE inside an extent", error == 0 ? "works" : error_name(error));
    const auto before = space_of(filler);
    auto punched = punch_every_second(written);
    experiment.observe("PUNCH_HOLE of every second block", punched, {{"available before", before.available}});
    // A part of each block is data in memory, and needs no block either.
    std::string parts = "works";
    for (std::uint64_t first = 0; first < blocks && parts == "works"; first += 50)
        if (const int wrong = written.file.fallocate(punch, first * units.cluster + 100, 200); wrong != 0)
            parts = fmt::format("{} at block {}", error_name(wrong), first);
        else
            std::fill_n(written.content.begin() + static_cast<std::ptrdiff_t>(first * units.cluster + 100), 200,
                        std::byte{});
    experiment.observe("PUNCH_HOLE of a part of a block", parts);
    truncated.truncate(0);
    truncated.sync_filesystem();
    const auto after = space_of(filler);
    const auto given_back = after.free > before.free ? after.free - before.free : 0;
    experiment.observe("given back", given_back >= blocks * units.cluster ? "enough" : format_bytes(given_back),
                       {{"bytes", given_back}, {"expected at least", blocks * units.cluster}});
    experiment.observe("ZERO_RANGE of all", zeroed.change(FALLOC_FL_ZERO_RANGE, 0, blocks));
    experiment.observe("PUNCH_HOLE of all", zeroed.change(punch, 0, blocks));
    experiment.observe("content", written.is_right() && zeroed.is_right() ? "right" : "wrong");
}

}  // namespace

extern const Case fallocate_punch_on_full_disk;
const Case fallocate_punch_on_full_disk{
    .name = "fallocate.punch_on_full_disk",
    .summary = "punches holes, zeroes and truncates where no space is left",
    .method =
        "Two files of 600 blocks are written, a third and one of four extents beside them, and then another takes all "
        "space. A block in the middle of an extent is punched out, and every second block of the first file, which "
        "needs more and more extents, then parts of blocks; the third is truncated; what that gives back must be "
        "free. The second is zeroed and punched out whole. All of it must work, and the content be right.",
    .run = run,
};

}  // namespace holdfast::cases
