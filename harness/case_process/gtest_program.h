// The program's GoogleTest face: every case on every filesystem is a test, family.case/filesystem.
#pragma once

#include "harness/catalogue/contents.h"

namespace holdfast {

/// True where the command line (or the environment) speaks to GoogleTest rather than to a verb.
[[nodiscard]] bool is_gtest_command_line(int argc, char** argv);

/// Runs what --gtest_filter selects, in this process. A test fails where the case's verdict is FAIL or worse; it is
/// skipped where a requirement is missing. Started by the supervisor, it only reports. Throws BadInput.
int run_gtest_program(const Contents& contents, int argc, char** argv);

/// How the supervisor starts it: the options that make it report rather than judge.
struct ReportingOptions {
    /// Descriptors in the case process.
    int report = -1;
    int shared = -1;
    int images = -1;
};
inline constexpr const char* option_report = "--report-descriptor";
inline constexpr const char* option_shared = "--shared-descriptor";
inline constexpr const char* option_replay = "--replayed-steps";
inline constexpr const char* option_images = "--images-descriptor";

}  // namespace holdfast
