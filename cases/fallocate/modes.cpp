// Calls fallocate(2) in every mode, on files with data, holes and unwritten extents, aligned and not, inside and past
// the end of file, and compares each file with a model of what the manual page says.
// Contract: each mode works: size, content, extents and block count are right at once and after a remount.

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "cases/fallocate/shared/mode.h"
#include "cases/fallocate/shared/scene.h"
#include "fixtures/base/failure.h"
#include "fixtures/io/clone.h"
#include "fixtures/probe/extents.h"

namespace holdfast::cases {

using namespace holdfast::fallocate;

namespace {

constexpr std::array allocating{
    Scene{"data and holes, past the end", "DDHHDD", {1, 0}, {9, 0}},
    Scene{"unaligned, past the end", "DDHHDDHH", {1, 100}, {8, 200}, 123},
    Scene{"inside the file", "DDHHHHHD", {3, 7}, {1, 1}},
    // As long as three blocks, and in four.
    Scene{"unaligned, of whole blocks", "DDHHHHHD", {2, 100}, {3, 0}},
    Scene{"an empty file", "", {0, 0}, {4, 0}},
    Scene{"one byte far past the end", "D", {5, 5}, {0, 1}},
    Scene{"dirty data", "DDHHDD", {1, 0}, {9, 0}, 0, true},
};
constexpr std::array punching{
    Scene{"whole blocks", "DDDDDDDD", {2, 0}, {2, 0}},
    Scene{"unaligned", "DDDDDDDD", {2, 100}, {3, 200}},
    Scene{"inside one block", "DDDD", {1, 100}, {0, 100}},
    Scene{"data, unwritten and holes", "DDDDUUHH", {3, 0}, {4, 0}},
    Scene{"past the end", "DDDD", {3, 0}, {6, 0}},
    Scene{"past an end inside a block", "DDDD", {2, 0}, {6, 0}, 123},
    Scene{"all of it past the end", "DDDD", {4, 0}, {2, 0}},
    Scene{"dirty data", "DDDDDDDD", {2, 100}, {3, 200}, 0, true},
};
constexpr std::array zeroing{
    Scene{"whole blocks", "DDDDDDDD", {2, 0}, {2, 0}},
    Scene{"unaligned", "DDDDDDDD", {2, 100}, {3, 200}},
    Scene{"inside one block", "DDDD", {1, 100}, {0, 100}},
    Scene{"data, unwritten and holes", "DDHHUUDD", {1, 0}, {6, 0}},
    Scene{"unaligned, past the end", "DDDD", {3, 7}, {3, 9}},
    Scene{"an empty file", "", {1, 0}, {2, 0}},
    Scene{"dirty data", "DDDDDDDD", {2, 100}, {3, 200}, 0, true},
};
constexpr std::array collapsing{
    Scene{"inside one extent", "DDDDDDDD", {2, 0}, {2, 0}},
    Scene{"from the start", "DDDDDDDD", {0, 0}, {2, 0}, 100},
    Scene{"data, holes and unwritten", "DDHHUUDD", {1, 0}, {4, 0}},
    Scene{"a single step", "DDDDDDDD", {1, 0}, {1, 0}},
    Scene{"dirty data", "DDDDDDDD", {2, 0}, {3, 0}, 0, true},
};
constexpr std::array inserting{
    Scene{"inside one extent", "DDDDDDDD", {2, 0}, {2, 0}},
    Scene{"at the start", "DDDDDDDD", {0, 0}, {2, 0}, 100},
    Scene{"between hole and unwritten", "DDHHUUDD", {4, 0}, {1, 0}},
    Scene{"before the last step", "DDDDDDDD", {7, 0}, {3, 0}},
    Scene{"dirty data", "DDDDDDDD", {2, 0}, {3, 0}, 0, true},
};
constexpr std::array unsharing{
    Scene{"nothing shared", "DDDDDD", {1, 0}, {3, 0}},
    Scene{"data, holes and unwritten", "DDHHUUDD", {1, 0}, {6, 0}},
    Scene{"unaligned, past the end", "DDHHDD", {3, 100}, {5, 200}, 123},
    Scene{"an empty file", "", {0, 0}, {3, 0}},
    Scene{"dirty data", "DDHHDD", {1, 0}, {4, 0}, 0, true},
};

std::span<const Scene> scenes_of(const Mode& mode) {
    switch (mode.flags & ~FALLOC_FL_KEEP_SIZE) {
        case FALLOC_FL_PUNCH_HOLE:
            return punching;
        case FALLOC_FL_ZERO_RANGE:
        case write_zeroes:
            return zeroing;
        case FALLOC_FL_COLLAPSE_RANGE:
            return collapsing;
        case FALLOC_FL_INSERT_RANGE:
            return inserting;
        case FALLOC_FL_UNSHARE_RANGE:
            return unsharing;
        default:
            return allocating;
    }
}

constexpr std::string_view works = "works";

/// One scene played: what came out, and what later looks at the file need.
struct Played {
    std::string_view what;
    std::filesystem::path path;
    FileModel model;
    std::string outcome;
    nlohmann::json evidence;
};

Played play(const Mode& mode, const Scene& scene, std::filesystem::path path, std::uint32_t number,
            const AllocationUnits& units) {
    Stage stage = set_up(scene, path, number, units);
    Played played{scene.what,
                  std::move(path),
                  std::move(stage.model),
                  std::string(works),
                  {{"scene", scene.what}, {"offset", stage.offset}, {"length", stage.length}}};
    const int error = stage.file.fallocate(mode.flags, stage.offset, stage.length);
    if (error == 0) {
        mode.apply(played.model, stage.offset, stage.length);
        if (scene.dirty) played.model.let_unwritten_be_zeroed();
    } else {
        played.outcome = error_name(error);
    }
    if (const auto difference = find_difference(played.model, stage.file, units)) {
        played.outcome = error == 0 ? difference->what : played.outcome + ", but " + difference->what;
        played.evidence["detail"] = difference->detail;
    }
    played.evidence["file"] = describe_file(stage.file);
    return played;
}

/// Looks again at what has come back from the disk; then at what the file hides behind its end.
void look_again(Played& played, const AllocationUnits& units) {
    const File file = File::open(played.path, O_RDWR);
    auto difference = find_difference(played.model, file, units);
    std::string when = "after a remount";
    if (!difference) {
        const std::uint64_t behind = (played.model.blocks().size() + 1) * units.block;
        const std::uint64_t size = std::max(played.model.size() + 1, behind);
        file.truncate(size);
        played.model.grow(size);
        difference = find_content_difference(played.model, file);
        when = "behind the end of file";
    }
    if (difference && played.outcome.find("wrong") == std::string::npos) {
        played.outcome =
            fmt::format("{}{} {}", played.outcome == works ? "" : played.outcome + ", but ", difference->what, when);
        played.evidence["detail"] = difference->detail;
    }
}

/// UNSHARE_RANGE of a file that shares all its blocks with another. Nothing where the filesystem cannot share blocks.
std::optional<Played> play_shared(const std::filesystem::path& path, std::uint32_t number,
                                  const AllocationUnits& units) {
    Stage original = set_up({"shared blocks", "DDDDDD", {1, 0}, {3, 0}}, path.string() + "-original", number, units);
    const File clone = File::create(path);
    if (clone_all(original.file, clone) != 0) return std::nullopt;
    Played played{"shared blocks", path, std::move(original.model), std::string(works), {{"scene", "shared blocks"}}};
    const int error = clone.fallocate(FALLOC_FL_UNSHARE_RANGE, original.offset, original.length);
    if (error != 0) played.outcome = error_name(error);
    for (const Extent& extent : read_extents(clone.descriptor())) {
        const bool outside = extent.end() <= original.offset || extent.logical >= original.offset + original.length;
        if (extent.shared() && !outside && played.outcome == works) played.outcome = "still shared";
    }
    for (const File* file : {&clone, static_cast<const File*>(&original.file)}) {
        // Not the block count: XFS keeps a reserve for copies of shared blocks in it until the file is closed.
        if (const auto difference = find_content_difference(played.model, *file)) {
            played.outcome = difference->what;
            played.evidence["detail"] = difference->detail;
        }
    }
    return played;
}

/// The outcome of all scenes in one text: that of the first which differs from the others.
std::string summarize_outcomes(const std::vector<Played>& all) {
    for (const Played& played : all) {
        if (played.outcome != all.front().outcome) {
            const Played& odd = played.outcome == works ? all.front() : played;
            return fmt::format("{} ({})", odd.outcome, odd.what);
        }
    }
    return all.front().outcome;
}

void run(Experiment& experiment) {
    DisposableFilesystem& filesystem = experiment.filesystem();
    const AllocationUnits units = allocation_units(filesystem);
    std::uint32_t number = 0;
    for (const Mode& mode : all_modes()) {
        const auto next_path = [&] { return filesystem.root() / fmt::format("file-{}", ++number); };
        std::vector<Played> all;
        for (const Scene& scene : scenes_of(mode)) {
            const auto path = next_path();
            all.push_back(play(mode, scene, path, number, units));
        }
        if (mode.flags == FALLOC_FL_UNSHARE_RANGE) {
            const auto path = next_path();
            if (auto shared = play_shared(path, number, units)) all.push_back(std::move(*shared));
        }
        filesystem.remount();
        nlohmann::json evidence = nlohmann::json::array();
        for (Played& played : all) {
            look_again(played, units);
            std::filesystem::remove(played.path);
            played.evidence["outcome"] = played.outcome;
            evidence.push_back(played.evidence);
        }
        experiment.observe(std::string(mode.name), summarize_outcomes(all), {{"scenes", evidence}});
    }
}

}  // namespace

extern const Case fallocate_modes;
const Case fallocate_modes{
    .name = "fallocate.modes",
    .summary = "calls fallocate(2) in every mode and checks that it did what the manual page says",
    .method =
        "Files of data, holes and unwritten extents get each mode on aligned and unaligned ranges inside and past the "
        "end of file. Size, content, extents (FIEMAP) and block count are compared with a model of the manual page at "
        "once and after a remount; then the file is grown to show what lies behind its old end.",
    .disk = DiskNeed::poisoned,
    .time_bound = std::chrono::seconds{300},
    .run = run,
};

}  // namespace holdfast::cases
