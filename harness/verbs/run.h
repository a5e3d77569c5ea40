// What `holdfast run` does, for all verbs that run cases.
#pragma once

#include "harness/catalogue/contents.h"
#include "harness/verbs/run_options.h"

namespace holdfast {

/// Runs the cases that `options` choose, writes the result file and prints the report. Returns the exit status. Throws
/// BadInput and Failure.
int run(const Contents& contents, RunOptions& options);

}  // namespace holdfast
