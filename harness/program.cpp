#include "harness/program.h"

#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "fixtures/base/failure.h"
#include "fixtures/disk/held/server.h"
#include "harness/case_process/gtest_program.h"
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

int run_verb(const Contents& contents, int argc, char** argv) {
    CLI::App app{
        "Holdfast tests how the kernel preallocates, appends and crashes, on filesystems made for the purpose."};
    app.name("holdfast");
    app.footer(
        "Cases also run as GoogleTest tests: holdfast --gtest_filter='aio_append.*/ext4', --gtest_list_tests, ...\n"
        "`holdfast VERB --help` shows the options of a verb, with an example.");
    app.set_version_flag("--version", std::string{"holdfast 1.0"});
    app.require_subcommand(1);
    Action action;
    add_run(app, contents, action);
    add_list(app, contents, action);
    add_explain(app, contents, action);
    add_doctor(app, contents, action);
    add_clean(app, action);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : status_bad_input;
    }
    return finish_output(action());
}

}  // namespace

int run_program(const Contents& contents, int argc, char** argv) {
    if (const int socket = disk_server_socket(argc, argv); socket >= 0) return run_disk_server(socket);
    try {
        if (is_gtest_command_line(argc, argv)) return run_gtest_program(contents, argc, argv);
        return run_verb(contents, argc, argv);
    } catch (const BadInput& error) {
        return complain(error, status_bad_input);
    } catch (const std::exception& error) {
        return complain(error, status_broken);
    }
}

}  // namespace holdfast
