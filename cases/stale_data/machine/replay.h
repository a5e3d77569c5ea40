// Sequences that are to be carried out again.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cases/stale_data/machine/step.h"

namespace holdfast::machine {

struct Replay {
    /// That failed on it: stale_data.state_machine, or one that plants something.
    std::string case_name;
    /// The name of the recipe that it failed on.
    std::string filesystem;
    Steps steps;
};

/// What `path` has: a result file, those of its failures that tell steps; or one sequence, {"filesystem": "ext4", "steps":
/// [...], "case": ...}, where the last may be left out. Throws BadInput where the file cannot be read, has none, or is wrong ("FILE:LINE: steps[3].offset: ...").
[[nodiscard]] std::vector<Replay> read_replays(const std::filesystem::path& path);

}  // namespace holdfast::machine
