// holdfast boot: a run in a kernel under test, as if it were here.
#include <memory>

#include <fmt/format.h>
#include <unistd.h>

#include "fixtures/base/failure.h"
#include "harness/boot/guest.h"
#include "harness/boot/guest_job.h"
#include "harness/results/result_file.h"
#include "harness/verbs/booted_run.h"
#include "harness/verbs/run_output.h"
#include "harness/verbs/verb.h"

namespace holdfast {
namespace {

struct Given {
    BootOptions boot;
    /// What comes after "--".
    std::vector<std::string> arguments;
};

void demand_writable(const std::filesystem::path& file) {
    const auto directory = std::filesystem::absolute(file).parent_path();
    if (::access(directory.c_str(), W_OK) != 0)
        throw SystemFailure(fmt::format("{}: cannot be written there", file.string()), errno);
}

int boot_and_run(const Contents& contents, const Given& given) {
    const auto inner = InnerRun::parse(given.arguments);
    if (!inner.options.results.empty()) demand_writable(inner.options.results);
    RunOutput output{inner.options};
    auto booted = run_in_guest(contents, given.boot, inner);
    if (booted.results) {
        const auto path = result_path(inner.options, booted.results->run.id);
        write_result_file(path, *booted.results);
        output.report(*booted.results, path);
    }
    std::fflush(stdout);
    if (!booted.trouble.empty()) fmt::print(stderr, "holdfast: {}", booted.trouble);
    return booted.status;
}

// Nothing but an answer of the guest may be an answer about its kernel.
int boot_for_bisect(const Contents& contents, const Given& given) {
    try {
        return boot_and_run(contents, given);
    } catch (const std::exception& error) {
        fmt::print(stderr, "holdfast: {}\n", error.what());
        return status_cannot_tell;
    }
}

}  // namespace

void add_boot(CLI::App& app, const Contents& contents, Action& action) {
    const auto given = std::make_shared<Given>();
    auto* verb = app.add_subcommand("boot", "Boot a kernel under test and run there");
    verb->add_option("--kernel", given->boot.kernel, "The kernel: a bzImage or a User Mode Linux program")->required();
    verb->add_option("--modules", given->boot.modules,
                     "Its modules: .../lib/modules/VERSION, or the root of an unpacked package; those beside the image "
                     "if left out");
    add_machine_options(*verb, given->boot);
    verb->add_option("run", given->arguments, "After --: run, and options of it")->required()->expected(1, 1000);
    verb->footer(
        "Example: holdfast boot --kernel arch/x86/boot/bzImage --modules . -- run 'aio_append.*' --jobs 2\n"
        "Needs QEMU (or a User Mode Linux program), no root and no network: the guest's root image is made of this "
        "machine's own programs.\n"
        "Exit status, as git bisect run takes it: 0 all PASS, XFAIL, XPASS or SKIP; 1 any FAIL, HANG or CRASH, or a "
        "panic "
        "or hang during the run; 125 anything else: no such kernel, it does not boot, a bad command line.");
    verb->callback(
        [&action, &contents, given] { action = [&contents, given] { return boot_for_bisect(contents, *given); }; });
}

void add_guest(CLI::App& app, Action& action) {
    auto* verb = app.add_subcommand(guest_verb, "What boot runs in its guest");
    verb->group("");  // shown to nobody
    verb->callback([&action] {
        action = [] {
            run_guest();
            return 0;
        };
    });
}

}  // namespace holdfast
