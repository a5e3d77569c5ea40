// Cuts a file into thousands of extents, so that its extent tree has several levels, and then works on all of them at once.
// Contract: content, extents and block count are right after each mode; what was freed is free.
#include <array>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "cases/fallocate/shared/mode.h"
#include "cases/fallocate/shared/scene.h"
#include "fixtures/base/bytes.h"
#include "fixtures/base/failure.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {

using namespace holdfast::fallocate;

namespace {

// A leaf of ext4 holds 340 extents in a block of 4 KiB, and the inode four leaves: 1360 are the most at depth 1.
constexpr std::uint64_t pieces_wanted = 1000;
constexpr std::uint64_t bytes_at_most = 64 * MiB;

/// The file: of every two steps the first is data; the second, by turns, a hole and unwritten.
struct Comb {
    std::filesystem::path path;
    FileModel model;
    std::uint64_t step;
    std::uint64_t steps;
};

Comb make_comb(const std::filesystem::path& path, std::uint32_t number, const AllocationUnits& units, bool unwritten) {
    const std::uint64_t steps = std::min(2 * pieces_wanted, bytes_at_most / units.step);
    Comb comb{path, FileModel(units.block, units.step), units.step, steps};
    const File file = File::create(path);
    file.truncate(steps * units.step);
    comb.model.grow(steps * units.step);
    std::vector<std::byte> data(units.step);
    for (std::uint64_t i = 0; i < steps; ++i) {
        const std::uint64_t offset = i * units.step;
        if (i % 2 == 0) {
            fill_data(data, {.file = number, .generation = 1}, offset);
            file.write_at(offset, data);
            comb.model.write(offset, data);
        } else if (unwritten && i % 4 == 1) {
            if (const int error = file.fallocate(FALLOC_FL_KEEP_SIZE, offset, units.step); error != 0)
                throw SystemFailure("preallocating a part of " + path.string(), error);
            comb.model.allocate(offset, units.step, true);
        }
    }
    file.sync();
    return comb;
}

/// In steps of the comb, a little more than a leaf's worth from either end.
struct Work {
    std::uint64_t first;
    std::uint64_t count;
};

Work work_for(const Mode& mode, const Comb& comb) {
    const std::uint64_t middle = comb.steps / 3;
    if ((mode.flags & FALLOC_FL_INSERT_RANGE) != 0) return {middle, 3};
    return {middle + 1, comb.steps / 3};
}

/// Carries the mode out on most of the comb, then once more on a single step near the start, where every extent behind
/// it is concerned.
std::optional<Difference> carry_out(const Mode& mode, Comb& comb, const AllocationUnits& units) {
    const File file = File::open(comb.path, O_RDWR);
    for (const Work& work : {work_for(mode, comb), Work{2, 1}}) {
        const std::uint64_t offset = work.first * comb.step;
        const std::uint64_t length = work.count * comb.step;
        if (const int error = file.fallocate(mode.flags, offset, length); error != 0)
            return Difference{"refused", fmt::format("{} of {} bytes at {} answers {}", mode.name, length, offset,
                                                     error_name(error))};
        mode.apply(comb.model, offset, length);
        if (auto difference = find_difference(comb.model, file, units, Tree::left_from_before)) {
            difference->detail += fmt::format("; after {} {}+{}", mode.name, offset, length);
            return difference;
        }
    }
    return std::nullopt;
}

void run(Experiment& experiment) {
    DisposableFilesystem& filesystem = experiment.filesystem();
    const AllocationUnits units = allocation_units(filesystem);
    const std::vector<Mode> modes = supported_modes(filesystem.root(), units.step);
    const bool unwritten =
        std::ranges::any_of(modes, [](const Mode& mode) { return mode.flags == FALLOC_FL_KEEP_SIZE; });
    std::uint32_t number = 0;
    std::vector<Comb> combs;
    std::string outcome = "right";
    nlohmann::json evidence = nlohmann::json::object();
    const auto note = [&](const std::optional<Difference>& difference, const Comb& comb, std::string_view when) {
        if (!difference || outcome != "right") return;
        outcome = fmt::format("{} {}", difference->what, when);
        evidence = {{"detail", difference->detail}, {"file", comb.path.filename().string()}, {"step", comb.step}};
    };
    for (const Mode& mode : modes) {
        // Below the end of file these do what others do.
        if (mode.flags == 0 || mode.flags == FALLOC_FL_ZERO_RANGE || mode.flags == FALLOC_FL_UNSHARE_RANGE) continue;
        const auto path = filesystem.root() / mode.name;
        Comb& comb = combs.emplace_back(make_comb(path, ++number, units, unwritten));
        note(carry_out(mode, comb, units), comb, "at once");
    }
    filesystem.remount();
    for (Comb& comb : combs) {
        const File file = File::open(comb.path, O_RDWR);
        note(find_difference(comb.model, file, units, Tree::left_from_before), comb, "after a remount");
        file.truncate(comb.step);
        comb.model.truncate(comb.step);
        note(find_difference(comb.model, file, units, Tree::left_from_before), comb, "after ftruncate to one step");
        file.truncate(0);
        comb.model.truncate(0);
        note(find_difference(comb.model, file, units, Tree::as_small_as_can_be), comb, "after ftruncate to nothing");
    }
    evidence["modes"] = names_of(modes);
    experiment.observe("files", outcome, evidence);
}

}  // namespace

extern const Case fallocate_extent_tree;
const Case fallocate_extent_tree{
    .name = "fallocate.extent_tree",
    .summary = "works on files of thousands of extents, whose extent trees have several levels",
    .method =
        "For each mode a file gets 2000 steps, by turns data, a hole or unwritten: more extents than an ext4 inode "
        "can find in leaves of its own. A third of them is punched, zeroed, allocated, collapsed or moved at once, "
        "then a single one near the start. Content, extents and block count are compared with the model each time, "
        "after a remount, and after the file has been cut to one step and to nothing.",
    .needs = {},
    .time_bound = std::chrono::seconds{300},
    .run = run,
};

}  // namespace holdfast::cases
