// holdfast verify: what a patch changes, from two boots.
#include <memory>

#include <fmt/format.h>
#include <unistd.h>

#include "fixtures/base/failure.h"
#include "harness/compare/comparison_text.h"
#include "harness/compare/patch_summary.h"
#include "harness/results/result_file.h"
#include "harness/verbs/booted_run.h"
#include "harness/verbs/run_output.h"
#include "harness/verbs/verb.h"

namespace holdfast {
namespace {

struct VerifyOptions {
    /// What both have in common.
    BootOptions both;
    BootOptions base;
    BootOptions patched;
    std::string profile;
    std::vector<std::string> arguments;
    std::filesystem::path directory = "results";
};

void add_side(CLI::App& verb, const char* name, const char* kernel, BootOptions& side) {
    verb.add_option(fmt::format("--{}", name), side.kernel, kernel)->required();
    verb.add_option(fmt::format("--{}-modules", name), side.modules, fmt::format("Modules of --{} alone", name));
    verb.add_option(fmt::format("--{}-append", name), side.machine.parameters,
                    fmt::format("More kernel parameters of --{} alone", name));
}

BootOptions options_for(const VerifyOptions& options, const BootOptions& side) {
    auto boot = options.both;
    boot.kernel = side.kernel;
    if (!side.modules.empty()) boot.modules = side.modules;
    if (!side.machine.parameters.empty()) boot.machine.parameters += " " + side.machine.parameters;
    if (!boot.console.empty()) boot.console += fmt::format(".{}", &side == &options.base ? "base" : "patched");
    return boot;
}

// Nothing where the kernel could not be asked; that was said then.
std::optional<Results> ask(const Contents& contents, const VerifyOptions& options, const char* name,
                           const BootOptions& side, const InnerRun& inner) {
    fmt::print(stderr, "holdfast: booting the {} kernel, {}\n", name, side.kernel.string());
    auto booted = run_in_guest(contents, options_for(options, side), inner);
    if (!booted.trouble.empty()) fmt::print(stderr, "holdfast: {} kernel: {}", name, booted.trouble);
    if (booted.status > status_cannot_tell) throw Failure("ended early by a signal");
    if (!booted.results) return std::nullopt;
    const auto file = options.directory / fmt::format("{}-{}.json", booted.results->run.id, name);
    write_result_file(file, *booted.results);
    fmt::print(stderr, "holdfast: results of the {} kernel: {}\n", name, file.string());
    return std::move(booted.results);
}

int verify(const Contents& contents, const VerifyOptions& options) {
    auto arguments = options.arguments;
    if (arguments.empty()) arguments = {"run", "--jobs", std::to_string(options.both.machine.cpus)};
    if (!options.profile.empty()) arguments.push_back("--profile=" + options.profile);
    const auto inner = InnerRun::parse(arguments);
    std::error_code error;
    std::filesystem::create_directories(options.directory, error);
    if (error) throw BadInput(fmt::format("{}: {}", options.directory.string(), error.message()));

    const auto before = ask(contents, options, "base", options.base, inner);
    if (!before) return status_cannot_tell;
    const auto after = ask(contents, options, "patched", options.patched, inner);
    if (!after) return status_cannot_tell;

    const auto comparison = compare(*before, *after);
    const auto patched = outcome(after->summary(), inner.options.strict);
    fmt::print("{}{}", format_comparison(comparison, *before, *after),
               summarize_patch(comparison, *before, *after, style_of(STDOUT_FILENO).columns));
    fmt::print("  The patched kernel by profile {}: {}.\n", after->run.profile, patched.sentence);
    if (comparison.is_worse()) return status_bad;
    return patched.exit_status > status_bad ? status_cannot_tell : patched.exit_status;
}

int verify_for_bisect(const Contents& contents, const VerifyOptions& options) {
    try {
        return verify(contents, options);
    } catch (const std::exception& error) {
        fmt::print(stderr, "holdfast: {}\n", error.what());
        return status_cannot_tell;
    }
}

}  // namespace

void add_verify(CLI::App& app, const Contents& contents, Action& action) {
    const auto options = std::make_shared<VerifyOptions>();
    auto* verb = app.add_subcommand("verify", "Boot a kernel without and with a patch, and say what the patch changed");
    add_side(*verb, "base", "The kernel without the patch: a bzImage or a User Mode Linux program", options->base);
    add_side(*verb, "patched", "The kernel with the patch", options->patched);
    verb->add_option("--modules", options->both.modules, "As of boot, for both");
    add_machine_options(*verb, options->both);
    verb->add_option("--profile", options->profile,
                     "The set of expectations for both, such as aio-append-async: appends must not block");
    verb->add_option("--results", options->directory, "A directory for both result files")->capture_default_str();
    verb->add_option("run", options->arguments,
                     "After --: run, and options of it; all of the default matrix if left out")
        ->expected(1, 1000);
    verb->footer(
        "Example: holdfast verify --base old/bzImage --patched new/bzImage --profile aio-append-async\n"
        "Exit status: 0 nothing is worse, and nothing fails in the patched kernel; 1 something is, or does; 125 one of "
        "them could not be asked.");
    verb->callback([&action, &contents, options] {
        action = [&contents, options] { return verify_for_bisect(contents, *options); };
    });
}

}  // namespace holdfast
