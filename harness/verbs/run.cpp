// holdfast run: the matrix, its progress, its results.
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <tuple>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "fixtures/base/failure.h"
#include "harness/results/junit.h"
#include "harness/results/ktap.h"
#include "harness/results/machine.h"
#include "harness/results/result_file.h"
#include "harness/results/text.h"
#include "harness/supervise/supervisor.h"
#include "harness/verbs/progress.h"
#include "harness/verbs/verb.h"

namespace holdfast {
namespace {

struct RunOptions {
    PlanOptions plan;
    OwnFiles own;
    std::string profile = "mainline";
    std::filesystem::path results;
    std::string format = "text";
    std::filesystem::path junit;
    std::filesystem::path images;
    unsigned jobs = 1;
    std::optional<std::uint64_t> seed;
    std::optional<unsigned> timeout;
    bool strict = false;
};

std::uint64_t random_number() {
    std::random_device device;
    return (static_cast<std::uint64_t>(device()) << 32 | device()) >> 12;  // short enough to type
}

// "20240501-120000-3f9a": sorts by time, and differs between two runs that start at once.
std::string make_run_id(std::time_t now) {
    return fmt::format("{:%Y%m%d-%H%M%S}-{:04x}", fmt::gmtime(now), random_number() & 0xffff);
}

TextStyle style_of(int descriptor) {
    if (::isatty(descriptor) == 0) return {};
    winsize size{};
    const bool known = ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return {.colours = std::getenv("NO_COLOR") == nullptr, .columns = known ? size.ws_col : 80U};
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

std::filesystem::path result_path(const RunOptions& options, const RunInfo& info) {
    if (!options.results.empty()) return options.results;
    std::error_code error;
    std::filesystem::create_directory("results", error);
    if (error && !std::filesystem::is_directory("results"))
        throw BadInput(
            fmt::format("results: cannot make this directory for the result file ({}); name another "
                        "file with --results FILE",
                        error.message()));
    return std::filesystem::path{"results"} / (info.id + ".json");
}

// Opened before anything runs, so that a path that cannot be written costs no run.
std::unique_ptr<std::ofstream> open_junit(const std::filesystem::path& path) {
    if (path.empty()) return nullptr;
    auto stream = std::make_unique<std::ofstream>(path, std::ios::trunc);
    if (!*stream) throw BadInput(fmt::format("{}: cannot be written: {}", path.string(), std::strerror(errno)));
    return stream;
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
    if (options.timeout) arguments.push_back(fmt::format("--timeout {}", *options.timeout));
    if (options.profile != "mainline") arguments.push_back("--profile " + options.profile);
    if (!options.images.empty()) arguments.push_back("--images " + options.images.string());
    return arguments;
}

// Each would replace the other.
void refuse_one_file_for_both(const std::filesystem::path& results, const std::filesystem::path& junit) {
    const auto place = [](const auto& path) {
        return std::filesystem::weakly_canonical(std::filesystem::absolute(path));
    };
    if (!junit.empty() && place(results) == place(junit))
        throw BadInput(fmt::format("{}: --results and --junit need a file each", junit.string()));
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

// What tells an entry of the plan, and its result, from all others.
using Identity = std::tuple<std::string_view, std::string_view, unsigned>;
Identity identity_of(const Planned& planned) { return {planned.one->name, planned.recipe->name, planned.repetition}; }
Identity identity_of(const CaseResult& result) { return {result.name, result.filesystem, result.repetition}; }

// Cases end in any order; people and programs read them in the order of the plan.
void sort_like(const std::vector<Planned>& plan, std::vector<CaseResult>& cases) {
    std::map<Identity, std::size_t> positions;
    for (const auto& planned : plan) positions.emplace(identity_of(planned), positions.size());
    std::ranges::sort(cases, {}, [&](const CaseResult& result) { return positions.at(identity_of(result)); });
}

std::vector<CaseResult> find_not_run(const std::vector<Planned>& plan, const Results& results, int signal) {
    std::set<Identity> ran;
    for (const auto& result : results.cases) ran.insert(identity_of(result));
    std::vector<CaseResult> not_run;
    for (const auto& planned : plan) {
        if (ran.contains(identity_of(planned))) continue;
        not_run.push_back({.name = std::string{planned.one->name},
                           .filesystem = planned.recipe->name,
                           .disk = "file",
                           .verdict = Verdict::broken,
                           .reason = fmt::format("did not run: ended early by SIG{}", sigabbrev_np(signal)),
                           .seed = results.run.seed,
                           .repetition = planned.repetition});
    }
    return not_run;
}

int run(const Contents& contents, RunOptions& options) {
    options.plan.shard = shard_from_environment();
    const auto catalogue = Catalogue::load(contents, options.own);
    const auto& profile = find_profile(catalogue.profiles, options.profile);
    const auto plan = make_plan(catalogue, options.plan);
    demand_what_any_run_needs();

    Results results{.run = describe_run(options, options.seed.value_or(random_number())),
                    .machine = describe_machine(),
                    .cases = {}};
    const auto path = result_path(options, results.run);
    refuse_one_file_for_both(path, options.junit);
    ResultFile file{path, results.run, results.machine};
    const auto junit = open_junit(options.junit);
    const auto directory =
        options.images.empty() ? RunDirectory::in_memory() : RunDirectory::with_images_in(options.images);
    const CaseSurroundings surroundings{
        .directory = directory,
        .expectations = catalogue.expectations,
        .profile = profile,
        .seed = results.run.seed,
        .time_bound = options.timeout ? std::optional{std::chrono::seconds{*options.timeout}} : std::nullopt,
        .recipe_arguments = arguments_for("--recipe", options.own.recipes),
        .run_arguments = arguments_to_run_again(options)};
    const auto start = std::chrono::steady_clock::now();
    const int signal = run_plan(plan, options, surroundings, file, results);
    results.run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    sort_like(plan, results.cases);
    file.finish(results.cases);
    if (signal != 0) results.not_run = find_not_run(plan, results, signal);

    fmt::print("{}", options.format == "ktap" ? format_ktap(results) : format_text(results, style_of(STDOUT_FILENO)));
    if (junit && !(*junit << format_junit(results) << std::flush))
        throw Failure(fmt::format("{}: cannot be written", options.junit.string()));
    if (options.format == "text") fmt::print("Results: {}\n", path.string());
    if (signal != 0) {
        fmt::print(stderr, "holdfast: ended early by SIG{}: {} of {} cases did not run\n", sigabbrev_np(signal),
                   results.not_run.size(), plan.size());
        return 128 + signal;
    }
    return outcome(results.summary(), options.strict).exit_status;
}

}  // namespace

void add_run(CLI::App& app, const Contents& contents, Action& action) {
    const auto options = std::make_shared<RunOptions>();
    auto* verb = app.add_subcommand("run", "Run cases on disposable filesystems and judge what they observe");
    verb->add_option("filter", options->plan.filter,
                     "Cases to run, as for --gtest_filter: 'aio_append.*', '*/xfs', 'stale_data.*-*/btrfs*'");
    verb->add_option("--filesystem", options->plan.filesystems,
                     "Filesystems to run on, in place of a matrix: one, or several with commas between")
        ->delimiter(',')
        ->allow_extra_args(false);
    verb->add_option("--matrix", options->plan.matrix, "The filesystems to run on: default or extended")
        ->capture_default_str();
    verb->add_option("--profile", options->profile, "The set of expectations to judge by")->capture_default_str();
    verb->add_option("--results", options->results, "The result file; results/RUN-ID.json where left out");
    verb->add_option("--format", options->format, "What to print: text or ktap")
        ->check(CLI::IsMember({"text", "ktap"}))
        ->capture_default_str();
    verb->add_option("--junit", options->junit, "Also write the results as JUnit XML to this file");
    verb->add_option("--jobs", options->jobs, "Cases to run at once")
        ->check(CLI::Range(1U, 256U))
        ->capture_default_str();
    verb->add_option("--repeat", options->plan.repeat, "Run everything so many times")
        ->check(CLI::Range(1U, 1000000U))
        ->capture_default_str();
    verb->add_option("--seed", options->seed, "Where all randomness comes from; random where left out")
        ->check([](const std::string& text) {
            const bool number = text.find_first_not_of("0123456789") == std::string::npos && text.size() < 20;
            return number ? std::string{} : "expected a number of up to 19 digits, found " + text;
        });
    verb->add_option("--timeout", options->timeout, "Seconds after which a case is a HANG, in place of its own bound")
        ->check(CLI::Range(1U, 86400U));
    verb->add_flag("--strict", options->strict, "Count XPASS and SKIP as failures");
    verb->add_option("--recipe", options->own.recipes, "Run on a filesystem of your own (a file; see images/README.md)")
        ->allow_extra_args(false);
    verb->add_option("--expectations", options->own.expectations,
                     "Expectations of your own (a file), in place of the shipped ones of the same cases")
        ->allow_extra_args(false);
    verb->add_option("--images", options->images, "A directory for the images; they live in memory where left out");
    verb->footer(
        "Example: sudo holdfast run 'aio_append.*' --filesystem ext4,xfs --jobs 2\n"
        "Exit status: 0 all PASS, XFAIL, XPASS or SKIP; 1 any FAIL, HANG or CRASH; 2 bad command line or file; "
        "3 any BROKEN and nothing worse, or nothing ran.");
    verb->callback(
        [&action, &contents, options] { action = [&contents, options] { return run(contents, *options); }; });
}

}  // namespace holdfast
