// A run in a kernel under test: what `boot` and `verify` have in common.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/boot/boot.h"
#include "harness/catalogue/contents.h"
#include "harness/results/result.h"
#include "harness/verbs/run_options.h"

namespace holdfast {

/// Exit statuses that `git bisect run` understands. Whatever else is wrong, a bad command line included, must not be taken
/// for a bad kernel: 125 then.
inline constexpr int status_good = 0;
inline constexpr int status_bad = 1;
inline constexpr int status_cannot_tell = 125;

/// Adds the options that say what to boot and how to a verb; parsing fills `options`, which must outlive it.
void add_machine_options(CLI::App& verb, BootOptions& options);

/// What came of it. Its results are those of the guest, and where the guest ended early, of what ran just then too.
struct BootedRun {
    /// Nothing where the guest did not get so far.
    std::optional<Results> results{};
    int status = status_cannot_tell;
    /// What is to be said beside the results, with the end of the console log: a panic, a hang, a boot that went nowhere.
    std::string trouble{};
};

/// The command line after "run", taken apart.
struct InnerRun {
    RunOptions options;
    /// What the program in the guest gets: without what says where results go.
    GuestTask task;

    /// Throws BadInput.
    [[nodiscard]] static InnerRun parse(const std::vector<std::string>& arguments);
};

/// Boots and runs; progress goes to standard error.
[[nodiscard]] BootedRun run_in_guest(const Contents& contents, const BootOptions& given, const InnerRun& inner);

}  // namespace holdfast
