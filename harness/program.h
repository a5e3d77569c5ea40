// The program: its verbs, its GoogleTest face, and its disk servers.
#pragma once

#include "harness/catalogue/contents.h"

namespace holdfast {

/// Runs the verb of the command line, or, with options of GoogleTest (--gtest_...), the cases in this process.
/// Returns the exit status; throws nothing.
int run_program(const Contents& contents, int argc, char** argv);

}  // namespace holdfast
