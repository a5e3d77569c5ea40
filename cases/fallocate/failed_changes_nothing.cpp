// Asks a filesystem for more than it has left, in every mode that needs space.
// Contract: ENOSPC, and everything is as it was: size, content, extents, block count and free space.
#include <algorithm>
#include <cerrno>
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
#include "fixtures/base/bytes.h"
#include "fixtures/base/failure.h"

namespace holdfast::cases {

using namespace holdfast::fallocate;

namespace {

/// What is left free, and what is asked for.
constexpr std::uint64_t left = 4 * MiB;
constexpr std::uint64_t asked = 64 * MiB;

/// A file as the mode meets it: data, a hole, preallocated blocks.
Stage make_file(const Mode& mode, const std::filesystem::path& path, std::uint32_t number,
                const AllocationUnits& units) {
    return set_up({mode.name, "DDHHUUDD", {1, 0}, {0, 0}}, path, number, units);
}

/// All that is different afterwards, in the words of the observation.
std::string changes(const Stage& stage, const AllocationUnits& units, nlohmann::json& evidence) {
    const auto difference = find_difference(stage.model, stage.file, units);
    evidence["file"] = describe_file(stage.file);
    if (!difference) return "nothing";
    evidence["detail"] = difference->detail;
    return difference->what;
}

/// The step of data before the range.
bool kept_beside(const Stage& stage, std::uint64_t step) {
    std::vector<std::byte> before(step);
    return stage.file.read_at(0, before) == step && std::ranges::equal(before, stage.model.content().first(step));
}

void run(Experiment& experiment) {
    DisposableFilesystem& filesystem = experiment.filesystem();
    const AllocationUnits units = allocation_units(filesystem);
    std::vector<Mode> modes = supported_modes(filesystem.root(), units.step);
    std::erase_if(modes, [](const Mode& mode) { return !mode.allocates() || mode.flags == write_zeroes; });
    std::uint32_t number = 0;
    std::vector<Stage> stages;
    for (const Mode& mode : modes) stages.push_back(make_file(mode, filesystem.root() / mode.name, ++number, units));
    const File filler = File::create(filesystem.root() / "filler");
    if (!modes.empty()) fill_but(filler, left, units, filesystem.disk().size());

    std::string beside = "kept";
    auto stage = stages.begin();
    for (const Mode& mode : all_modes()) {
        if (!mode.allocates() || mode.flags == write_zeroes) continue;
        const std::string name(mode.name);
        if (stage == stages.end() || stage->file.path().filename() != mode.name) {
            experiment.observe(name, "EOPNOTSUPP");
            experiment.observe(name + ", changed", "nothing");
            continue;
        }
        const int error = stage->file.fallocate(mode.flags, stage->offset, asked);
        experiment.observe(name, outcome_of(error), {{"asked for", asked}});
        nlohmann::json evidence = nlohmann::json::object();
        const std::string changed = changes(*stage, units, evidence);
        experiment.observe(name + ", changed", changed, evidence);
        if (!kept_beside(*stage, units.step)) beside = fmt::format("lost ({})", mode.name);
        // What a failed call has taken, the next one is not to miss.
        stage->file.truncate(0);
        stage->file.sync_filesystem();
        ++stage;
    }
    experiment.observe("data beside the range", beside);
}

}  // namespace

extern const Case fallocate_failed_changes_nothing;
const Case fallocate_failed_changes_nothing{
    .name = "fallocate.failed_changes_nothing",
    .summary =
        "asks for more than is left, in every mode that allocates, and looks at what the failed call has changed",
    .method =
        "A file takes all space but 4 MiB. Then each mode is asked for 64 MiB, from inside a file of data, holes and "
        "preallocated blocks, to far past its end. It must fail with ENOSPC; size, content, extents and block count "
        "are compared with what they were.",
    .needs = {},
    .run = run,
};

}  // namespace holdfast::cases
