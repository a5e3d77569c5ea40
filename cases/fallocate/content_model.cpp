// Takes files through hundreds of random calls: all modes of fallocate(2), writes of every kind, ftruncate(2), syncs.
// Contract: size, content, extents and block count are always what a model of the manual pages says.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "cases/fallocate/shared/random_walk.h"

namespace holdfast::cases {

using namespace holdfast::fallocate;

namespace {

constexpr std::uint32_t walks = 32;
constexpr int calls = 100;
constexpr int calls_between_looks = 20;

/// What was found wrong with a walk, with the way to it.
struct Found {
    std::string what;
    nlohmann::json evidence;
};

Found describe_walk(const RandomWalk& walk, std::uint32_t number, const Difference& difference, std::string_view when,
                    std::uint64_t seed) {
    return {fmt::format("{} {}", difference.what, when),
            {{"detail", difference.detail}, {"seed", seed}, {"walk", number}, {"calls", walk.steps()}}};
}

std::optional<Difference> go(RandomWalk& walk) {
    for (int call = 1; call <= calls; ++call) {
        if (auto difference = walk.step()) return difference;
        if (call % calls_between_looks != 0) continue;
        if (auto difference = walk.look()) return difference;
    }
    return walk.look();
}

void run(Experiment& experiment) {
    DisposableFilesystem& filesystem = experiment.filesystem();
    const AllocationUnits units = allocation_units(filesystem);
    const std::vector<Mode> modes = supported_modes(filesystem.root(), units.step);
    std::vector<RandomWalk> all;
    std::vector<Found> found;
    all.reserve(walks);
    const auto note = [&](std::uint32_t number, const std::optional<Difference>& difference, std::string_view when) {
        if (difference) found.push_back(describe_walk(all[number], number, *difference, when, experiment.seed()));
    };
    for (std::uint32_t number = 0; number < walks; ++number) {
        all.emplace_back(filesystem.root() / fmt::format("file-{}", number), number, units, modes,
                         number % 2 == 0 ? Writing::inside : Writing::everywhere, experiment.seed() + number);
        note(number, go(all.back()), "at once");
        all.back().close();
    }
    if (found.empty()) {
        filesystem.remount();
        for (std::uint32_t number = 0; number < walks; ++number) {
            note(number, all[number].look(), "after a remount");
            note(number, all[number].look_behind_end(), "behind the end of file");
            all[number].close();
        }
    }
    nlohmann::json evidence = found.empty() ? nlohmann::json::object() : found.front().evidence;
    evidence["modes"] = names_of(modes);
    experiment.observe("files", found.empty() ? "right" : found.front().what, evidence);
}

}  // namespace

extern const Case fallocate_content_model;
const Case fallocate_content_model{
    .name = "fallocate.content_model",
    .summary = "takes files through random calls of all modes, writes and ftruncate, and compares them with a model",
    .method =
        "On a poisoned disk, each of 32 files goes through a hundred random calls: fallocate in every mode that the "
        "filesystem has, aligned and not, below and past the end; writes in twenty ways (through the page cache and "
        "directly, in segments, by io_submit, io_uring, splice, sendfile and copy_file_range, synchronously, "
        "appending, at the file position) and through mappings; ftruncate; fsync; dropping the page cache. In half of "
        "the files the size is moved by ftruncate alone, so that every hole must be one. Buffered, direct and mapped "
        "readers look at the content in between, now and then at the extents and the block count too; all of it once "
        "more after a remount, and then at what lies behind the end of file. The seed decides about all calls; a "
        "failure lists those of its file.",
    .needs = {},
    .disk = DiskNeed::poisoned,
    .time_bound = std::chrono::seconds{300},
    .run = run,
};

}  // namespace holdfast::cases
