// holdfast run: the matrix, its progress, its results.
#include "harness/verbs/run.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <random>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "fixtures/base/failure.h"
#include "harness/results/machine.h"
#include "harness/results/result_file.h"
#include "harness/supervise/supervisor.h"
#include "harness/verbs/progress.h"
#include "harness/verbs/run_output.h"
#include "harness/verbs/verb.h"

namespace holdfast {
namespace {

std::uint64_t random_number() {
    std::random_device device;
    return (static_cast<std::uint64_t>(device()) << 32 | device()) >> 12;  // short enough to type
}

// "20240501-120000-3f9a": sorts by time, and differs between two runs that start at once.
std::string make_run_id(std::time_t now) {
    return fmt::format("{:%Y%m%d-%H%M%S}-{:04x}", fmt::gmtime(now), random_number() & 0xffff);
}

RunInfo describe_run(const RunOptions& options, std::uint64_t seed) {
    const auto now = std::time(nullptr);
    return {.id = make_run_id(now),
            .started = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now)),
            .seconds = 0,
            .seed = seed,
            .profile = options.profile,
            .matrix = options.plan.filesystems.empty() ? options.plan.matrix
                                                       : fmt::format("{}", fmt::join(options.plan.filesystems, ",")),
            .shard = options.plan.shard};
}

std::vector<std::string> arguments_for(const char* option, const std::vector<std::filesystem::path>& files) {
    std::vector<std::string> arguments;
    for (const auto& file : files) arguments.push_back(fmt::format("{}={}", option, file.string()));
    return arguments;
}

std::vector<std::string> arguments_to_run_again(const RunOptions& options) {
    auto arguments = arguments_for("--recipe", options.own.recipes);
    const auto expectations = arguments_for("--expectations", options.own.expectations);
    arguments.insert(arguments.end(), expectations.begin(), expectations.end());
    if (options.duration) arguments.push_back(fmt::format("--for {}", *options.duration));
    if (options.full) arguments.emplace_back("--full");
    if (options.timeout) arguments.push_back(fmt::format("--timeout {}", *options.timeout));
    if (options.profile != "mainline") arguments.push_back("--profile " + options.profile);
    if (!options.images.empty()) arguments.push_back("--images " + options.images.string());
    return arguments;
}

// One at a time: each looks at the memory that is there before it begins.
void demand_full_sizes(const std::vector<Planned>& plan, const RunOptions& options) {
    if (std::ranges::none_of(plan, [](const Planned& planned) { return planned.one->full.has_value(); }))
        throw BadInput("--full: none of the chosen cases is smaller than what was published; sources.* are");
    if (options.jobs > 1) throw BadInput("--full: cases run one at a time; leave out --jobs");
}

// Runs the plan and keeps what comes of it. Returns the signal that ended it early, or 0.
int run_plan(const std::vector<Planned>& plan, const RunOptions& options, const CaseSurroundings& surroundings,
             ResultFile& file, Results& results) {
    EndingSignals signals;
    Progress progress{plan.size(), ::isatty(STDERR_FILENO) != 0, style_of(STDERR_FILENO)};
    return supervise(plan, options.jobs, surroundings, signals,
                     {.started = [](const Planned&) {},
                      .finished =
                          [&](const Planned& planned, const CaseResult& result) {
                              file.add(result);
                              results.cases.push_back(result);
                              progress.finished(planned, result);
                          },
                      .ticked = [&](const auto& running) { progress.ticked(running); }});
}

}  // namespace

int run(const Contents& contents, RunOptions& options) {
    options.plan.shard = shard_from_environment();
    const auto catalogue = Catalogue::load(contents, options.own);
    const auto& profile = find_profile(catalogue.profiles, options.profile);
    const auto plan = make_plan(catalogue, options.plan);
    const bool rounds = std::ranges::any_of(plan, [](const Planned& planned) { return planned.one->in_rounds; });
    if (options.duration && !rounds)
        throw BadInput("--for: none of the chosen cases works in rounds; stale_data.stress does");
    if (options.full) demand_full_sizes(plan, options);
    demand_what_any_run_needs();

    Results results{.run = describe_run(options, options.seed.value_or(random_number())),
                    .machine = describe_machine(),
                    .cases = {}};
    const auto path = result_path(options, results.run.id);
    RunOutput output{options};
    ResultFile file{path, results.run, results.machine};
    const auto directory =
        options.images.empty() ? RunDirectory::in_memory() : RunDirectory::with_images_in(options.images);
    const CaseSurroundings surroundings{
        .directory = directory,
        .expectations = catalogue.expectations,
        .profile = profile,
        .seed = results.run.seed,
        .duration = options.duration ? std::optional{std::chrono::seconds{*options.duration}} : std::nullopt,
        .full = options.full,
        .replayed = options.replayed,
        .time_bound = options.timeout ? std::optional{std::chrono::seconds{*options.timeout}} : std::nullopt,
        .recipe_arguments = arguments_for("--recipe", options.own.recipes),
        .run_arguments = arguments_to_run_again(options)};
    const auto start = std::chrono::steady_clock::now();
    const int signal = run_plan(plan, options, surroundings, file, results);
    results.run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    sort_like(plan, results.cases);
    file.finish(results.cases);
    if (signal != 0)
        results.not_run = find_not_run(plan, results, fmt::format("ended early by SIG{}", sigabbrev_np(signal)));
    output.report(results, path);
    if (signal != 0) {
        fmt::print(stderr, "holdfast: ended early by SIG{}: {} of {} cases did not run\n", sigabbrev_np(signal),
                   results.not_run.size(), plan.size());
        return 128 + signal;
    }
    return outcome(results.summary(), options.strict).exit_status;
}

void add_run(CLI::App& app, const Contents& contents, Action& action) {
    const auto options = std::make_shared<RunOptions>();
    auto* verb = app.add_subcommand("run", "Run cases on disposable filesystems and judge what they observe");
    add_run_options(*verb, *options);
    verb->footer(
        "Example: sudo holdfast run 'aio_append.*' --filesystem ext4,xfs --jobs 2\n"
        "Exit status: 0 all PASS, XFAIL, XPASS or SKIP; 1 any FAIL, HANG or CRASH; 2 bad command line or file; "
        "3 any BROKEN and nothing worse, or nothing ran.");
    verb->callback(
        [&action, &contents, options] { action = [&contents, options] { return run(contents, *options); }; });
}

}  // namespace holdfast
