#include "harness/program.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "fixtures/base/failure.h"
#include "fixtures/disk/held/server.h"
#include "fixtures/probe/requirement.h"
#include "harness/case_process/gtest_program.h"
#include "harness/catalogue/plan.h"
#include "harness/verbs/booted_run.h"
#include "harness/verbs/verb.h"

namespace holdfast {
namespace {

constexpr int status_bad_input = 2;
constexpr int status_broken = 3;

// Where standard error cannot be written to, the exit status still says it.
int complain(const std::exception& error, int status) {
    std::fprintf(stderr, "holdfast: %s\n", error.what());
    return status;
}

// What was printed and cannot be written (a full disk) must not pass for a report.
int finish_output(int status) {
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
    std::fputs("holdfast: standard output cannot be written\n", stderr);
    return status == 0 ? status_broken : status;
}

// CLI11 only says that there is no verb.
void refuse_unknown_verb(const CLI::App& app, const std::vector<std::string>& arguments) {
    if (arguments.empty() || arguments.front().starts_with('-')) return;
    std::vector<std::string> verbs;
    for (const auto* verb : app.get_subcommands({})) {
        if (verb->get_name() == arguments.front()) return;
        if (!verb->get_group().empty()) verbs.push_back(verb->get_name());
    }
    throw BadInput(fmt::format("no verb \"{}\"; there are: {}", arguments.front(), fmt::join(verbs, ", ")));
}

// A filter that only leaves out ("-*/xfs") would pass for an option; "*-*/xfs" is the same one.
std::vector<std::string> read_arguments(int argc, char** argv) {
    std::vector<std::string> arguments{argv + 1, argv + argc};
    for (auto& argument : arguments)
        if (!argument.starts_with("--") && find_exclusions(argument) == 0) argument.insert(0, "*");
    return arguments;
}

int run_verb(const Contents& contents, int argc, char** argv) {
    CLI::App app{
        "Holdfast finds out how a Linux kernel really behaves when a program preallocates, appends and reads what it "
        "must "
        "not see, and says whether that is right."};
    app.name("holdfast");
    app.footer(
        "Cases also run as GoogleTest tests: holdfast --gtest_filter='aio_append.*/ext4', --gtest_list_tests, ...\n"
        "`holdfast VERB --help` shows the options of a verb, with an example.");
    app.set_version_flag("--version", std::string{"holdfast 1.0"});
    app.require_subcommand(1);
    Action action;
    add_run(app, contents, action);
    add_replay(app, contents, action);
    add_list(app, contents, action);
    add_explain(app, contents, action);
    add_doctor(app, contents, action);
    add_clean(app, action);
    add_fio(app, contents, action);
    add_append_check(app, action);
    add_boot(app, contents, action);
    add_compare(app, action);
    add_verify(app, contents, action);
    add_guest(app, action);
    try {
        const auto arguments = read_arguments(argc, argv);
        refuse_unknown_verb(app, arguments);
        app.parse(std::vector(arguments.rbegin(), arguments.rend()));  // CLI11 takes them from the back
    } catch (const CLI::ParseError& error) {
        if (app.exit(error) == 0) return 0;
        // `git bisect run` must not take a bad command line for a bad kernel.
        return app.got_subcommand("boot") ? status_cannot_tell : status_bad_input;
    }
    return finish_output(action());
}

bool has_argument(int argc, char** argv, std::string_view beginning) {
    return std::any_of(argv + 1, argv + argc,
                       [&](const char* argument) { return std::string_view{argument}.starts_with(beginning); });
}

// GoogleTest takes it for success that nothing matches. (A shard may be empty.)
void demand_that_something_ran() {
    const bool whole = std::getenv("GTEST_TOTAL_SHARDS") == nullptr;
    if (whole && testing::UnitTest::GetInstance()->test_to_run_count() == 0)
        throw BadInput(fmt::format("no case matches \"{}\"; `holdfast list` shows them all", GTEST_FLAG_GET(filter)));
}

int run_gtest(const Contents& contents, int argc, char** argv) {
    const bool only_looks = has_argument(argc, argv, "--gtest_list_tests") || has_argument(argc, argv, "--help");
    if (!only_looks) demand_what_any_run_needs();
    const int status = run_gtest_program(contents, argc, argv);
    if (!only_looks) demand_that_something_ran();
    return status;
}

}  // namespace

int run_program(const Contents& contents, int argc, char** argv) {
    if (const int socket = disk_server_socket(argc, argv); socket >= 0) return run_disk_server(socket);
    try {
        if (is_gtest_command_line(argc, argv)) return run_gtest(contents, argc, argv);
        return run_verb(contents, argc, argv);
    } catch (const BadInput& error) {
        return complain(error, status_bad_input);
    } catch (const std::exception& error) {
        return complain(error, status_broken);
    }
}

}  // namespace holdfast
