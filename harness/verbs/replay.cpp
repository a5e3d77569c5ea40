// holdfast replay: a random sequence that failed, carried out again.
#include "cases/stale_data/machine/replay.h"

#include <memory>

#include <fmt/format.h>

#include "harness/verbs/run.h"
#include "harness/verbs/verb.h"

namespace holdfast {
namespace {

// Where no filesystems are named, on those that the sequences failed on; those of the user's own recipes are among them.
int replay(const Contents& contents, RunOptions& options) {
    const auto replays = machine::read_replays(options.replayed);
    options.replayed = std::filesystem::absolute(options.replayed);
    options.plan.filter = replays.front().case_name;
    if (options.plan.filesystems.empty())
        for (const auto& one : replays) options.plan.filesystems.push_back(one.filesystem);
    return run(contents, options);
}

}  // namespace

void add_replay(CLI::App& app, const Contents& contents, Action& action) {
    const auto options = std::make_shared<RunOptions>();
    auto* verb = app.add_subcommand("replay", "Carry out again the steps of stale_data.state_machine that failed");
    verb->add_option("file", options->replayed,
                     "A result file, or one sequence: {\"filesystem\": \"ext4\", \"steps\": [...]}, as results tell it")
        ->required();
    verb->add_option("--filesystem", options->plan.filesystems,
                     "Carry them out on these, in place of the filesystems they failed on")
        ->delimiter(',')
        ->allow_extra_args(false);
    verb->add_option("--recipe", options->own.recipes, "On a filesystem of your own (a file; see images/README.md)")
        ->allow_extra_args(false);
    verb->add_option("--results", options->results, "The result file; results/RUN-ID.json where left out");
    verb->footer(
        "Example: sudo holdfast replay results/20240501-120000-3f9a.json\n"
        "Exit status: as of run.");
    verb->callback(
        [&action, &contents, options] { action = [&contents, options] { return replay(contents, *options); }; });
}

}  // namespace holdfast
