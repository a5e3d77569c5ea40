// The program: its verbs and its GoogleTest face.
#pragma once

#include <span>

#include "cases/case.h"
#include "fixtures/base/embedded.h"

namespace holdfast {

/// What a program is made of: its cases and what to expect of them.
struct Contents {
    std::span<const Case* const> cases;
    std::span<const EmbeddedFile> expectations;
};

/// Runs the verb of the command line, or, with options of GoogleTest (--gtest_...), the cases in this process.
/// Returns the exit status; throws nothing.
int run_program(const Contents& contents, int argc, char** argv);

}  // namespace holdfast
