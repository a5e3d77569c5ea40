#include "harness/verbs/booted_run.h"

#include <algorithm>
#include <csignal>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fixtures/base/failure.h"
#include "harness/boot/temporary_directory.h"
#include "harness/results/result_file.h"
#include "harness/verbs/run_output.h"

namespace holdfast {
namespace {

// In place of a case's own bound where all goes ten times as slowly, and yet many times what any case takes there.
constexpr unsigned emulated_time_bound = 900;
// What a supervisor may take beyond a case's bound before it says something.
constexpr std::chrono::seconds beyond_bound{180};

// Where a run leaves what it found out is our matter, not the guest's.
bool is_for_host(const std::string& name) { return name == "--results" || name == "--junit" || name == "--format"; }
bool names_file(const std::string& name) {
    return name == "--recipe" || name == "--expectations" || name == "--profile";
}

// One given option as the guest is to get it.
void take_option(const CLI::Option& option, GuestTask& task) {
    const auto name = option.get_name();
    if (is_for_host(name)) return;
    if (name == "--images") throw BadInput("--images: images of a guest live in its memory (see --memory of boot)");
    if (option.get_items_expected_max() == 0) return task.arguments.push_back(name);
    for (auto value : option.results()) {
        if (names_file(name) && std::filesystem::is_regular_file(value)) {
            value = std::filesystem::absolute(value).string();
            task.inputs.emplace_back(value);
        }
        task.arguments.push_back(option.nonpositional() ? fmt::format("{}={}", name, value) : value);
    }
}

std::string timeout_argument() { return fmt::format("--timeout {}", emulated_time_bound); }

// Each command must do it again from here.
void replay_by_boot(std::vector<CaseResult>& cases, const BootOptions& options, bool own_timeout) {
    const std::string inside = "holdfast run ";
    auto outside = fmt::format("holdfast boot --kernel {}", options.kernel.string());
    if (!options.modules.empty()) outside += fmt::format(" --modules {}", options.modules.string());
    if (!options.machine.parameters.empty()) outside += fmt::format(" --append '{}'", options.machine.parameters);
    for (auto& result : cases) {
        if (!result.command.starts_with(inside)) continue;
        result.command.replace(0, inside.size(), outside + " -- run ");
        const auto given = " " + timeout_argument();
        if (const auto at = result.command.find(given); !own_timeout && at != std::string::npos)
            result.command.erase(at, given.size());
    }
}

const char* what_happened(GuestEnd end) {
    switch (end) {
        case GuestEnd::finished:
            return "the run ended";
        case GuestEnd::panicked:
            return "the kernel panicked";
        case GuestEnd::hung:
            return "the guest gave no sign of life any more";
        case GuestEnd::vanished:
            return "the machine ended before the run in it";
        case GuestEnd::interrupted:
            return "ended early by a signal";
    }
    return "";
}

// Cases start in the order of the plan, so those that ran are the first that have no result.
void blame_those_that_ran(const std::vector<Planned>& plan, unsigned jobs, const GuestOutcome& outcome,
                          Results& results) {
    auto not_run = find_not_run(plan, results, what_happened(outcome.end));
    const auto count = std::min<std::size_t>(jobs, not_run.size());
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) names.push_back(not_run[i].name + "/" + not_run[i].filesystem);
    for (std::size_t i = 0; i < count; ++i) {
        auto& result = not_run[i];
        result.verdict = outcome.end == GuestEnd::hung ? Verdict::hang : Verdict::crash;
        result.reason = fmt::format("{} while {} ran{}{}", what_happened(outcome.end), fmt::join(names, " and "),
                                    outcome.panic.empty() ? "" : ": ", outcome.panic);
        result.evidence["console"] = outcome.console;
        result.command = fmt::format("holdfast run '{}' --seed {}", names[i], result.seed);
        results.cases.push_back(std::move(result));
    }
    results.not_run.assign(not_run.begin() + static_cast<std::ptrdiff_t>(count), not_run.end());
}

std::string describe_trouble(const GuestOutcome& outcome, std::chrono::seconds silence) {
    const auto* const where = outcome.booted ? "during the run" : "before the run began";
    std::string what = fmt::format("{}, {}", what_happened(outcome.end), where);
    if (!outcome.panic.empty()) what += ": " + outcome.panic;
    if (outcome.end == GuestEnd::hung && !outcome.booted)
        what = fmt::format("the boot went nowhere within {} s", silence.count());
    return fmt::format("{}\nThe end of its console:\n{}\n", what, outcome.console);
}

std::chrono::seconds longest_time_bound(const std::vector<Planned>& plan, const RunOptions& options) {
    const std::chrono::seconds rounds{options.duration.value_or(0)};
    if (options.timeout) return std::chrono::seconds{*options.timeout} + rounds;
    std::chrono::seconds longest{0};
    for (const auto& planned : plan) longest = std::max(longest, planned.one->bound(options.full));
    return longest + rounds;
}

int status_for(const Outcome& outcome) {
    return outcome.exit_status == 0 || outcome.exit_status == 1 ? outcome.exit_status : status_cannot_tell;
}

}  // namespace

void add_machine_options(CLI::App& verb, BootOptions& options) {
    verb.add_option("--initrd-extra", options.extra,
                    "Another file or directory for the root image, at its own place; with the libraries it needs")
        ->allow_extra_args(false);
    verb.add_option("--append", options.machine.parameters, "More kernel parameters, as one argument");
    verb.add_option("--cpus", options.machine.cpus, "CPUs of the guest")
        ->check(CLI::Range(1U, 256U))
        ->capture_default_str();
    verb.add_option("--memory", options.machine.memory_mib, "Memory of the guest, in MiB")
        ->check(CLI::Range(512U, 1U << 20))
        ->capture_default_str();
    verb.add_option_function<std::string>(
            "--accel", [&options](const std::string& choice) { options.kvm = choice == "kvm"; },
            "kvm, or tcg for software emulation; KVM where it works, if left out")
        ->check(CLI::IsMember({"kvm", "tcg"}));
    verb.add_option_function<unsigned>(
            "--silence", [&options](unsigned seconds) { options.patience.silence = std::chrono::seconds{seconds}; },
            "Seconds that a boot may take, and a guest give no sign of life, before it is taken for hung (120)")
        ->check(CLI::Range(5U, 86400U));
    verb.add_option("--console", options.console, "Keep the guest's console log in this file");
}

InnerRun InnerRun::parse(const std::vector<std::string>& arguments) {
    InnerRun inner;
    CLI::App app{"What to run in the guest"};
    app.require_subcommand(1);
    auto* run = app.add_subcommand("run", "");
    add_run_options(*run, inner.options);
    try {
        app.parse(std::vector(arguments.rbegin(), arguments.rend()));
    } catch (const CLI::ParseError& error) {
        throw BadInput(fmt::format("{} (after --, for the guest)", error.what()));
    }
    inner.task.arguments = {"run", fmt::format("--results={}", guest_results().string())};
    for (const auto* option : run->get_options([](const CLI::Option* one) { return one->count() > 0; }))
        take_option(*option, inner.task);
    return inner;
}

BootedRun run_in_guest(const Contents& contents, const BootOptions& given, const InnerRun& inner) {
    const auto catalogue = Catalogue::load(contents, inner.options.own);
    (void)find_profile(catalogue.profiles, inner.options.profile);
    const auto plan = make_plan(catalogue, inner.options.plan);

    auto options = given;
    auto task = inner.task;
    auto run_options = inner.options;
    if (options.emulated() && !run_options.timeout) {
        run_options.timeout = emulated_time_bound;
        task.arguments.push_back(fmt::format("--timeout={}", emulated_time_bound));
    }
    options.patience.quiet = longest_time_bound(plan, run_options) + beyond_bound;

    const TemporaryDirectory scratch;
    const auto file = scratch.path() / "results.json";
    const auto outcome = boot(options, task, file, [](const std::string&, const std::string& progress) {
        std::fwrite(progress.data(), 1, progress.size(), stderr);
    });
    BootedRun booted;
    if (std::filesystem::exists(file)) booted.results = read_result_file(file);
    const bool ended_early = outcome.end != GuestEnd::finished;
    if (ended_early) booted.trouble = describe_trouble(outcome, options.patience.silence);
    if (!booted.results) {
        if (!ended_early) booted.trouble = "the run in the guest left no result file; its own words are above\n";
        return booted;
    }
    if (outcome.end == GuestEnd::interrupted) {
        booted.results->not_run = find_not_run(plan, *booted.results, what_happened(outcome.end));
    } else if (ended_early) {
        blame_those_that_ran(plan, inner.options.jobs, outcome, *booted.results);
    }
    sort_like(plan, booted.results->cases);
    replay_by_boot(booted.results->cases, options, inner.options.timeout.has_value());
    booted.status = outcome.end == GuestEnd::interrupted
                        ? 128 + outcome.signal
                        : status_for(holdfast::outcome(booted.results->summary(), inner.options.strict));
    return booted;
}

}  // namespace holdfast
