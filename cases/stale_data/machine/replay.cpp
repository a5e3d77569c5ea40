#include "cases/stale_data/machine/replay.h"

#include <algorithm>

#include <fmt/format.h>

#include "cases/stale_data/machine/step_json.h"
#include "fixtures/base/document.h"
#include "fixtures/base/failure.h"

namespace holdfast::machine {
namespace {

Replay read_replay(const Value& value) {
    value.only({"case", "filesystem", "steps"});
    const auto name = value.optional("case");
    return {.case_name = name ? name->text() : "stale_data.state_machine",
            .filesystem = value.required("filesystem").text(),
            .steps = read_steps(value.required("steps"))};
}

// All observations of a failure tell the same steps.
std::vector<Replay> replays_of_results(const Value& results) {
    std::vector<Replay> replays;
    for (const auto& result : results.items())
        for (const auto& observation : result.required("observations").items()) {
            const auto evidence = observation.optional("evidence");
            const auto found = evidence ? evidence->optional("replay") : std::nullopt;
            if (!found) continue;
            replays.push_back(read_replay(*found));
            break;
        }
    return replays;
}

}  // namespace

std::vector<Replay> read_replays(const std::filesystem::path& path) {
    const auto root = Document::load(path);
    const auto results = root.optional("cases");
    if (!results) return {read_replay(root)};
    auto replays = replays_of_results(*results);
    if (replays.empty())
        throw BadInput(
            fmt::format("{}: no result in it tells steps to carry out again; those of stale_data.state_machine "
                        "that fail do",
                        path.string()));
    return replays;
}

}  // namespace holdfast::machine
