// Running one case on one filesystem, in this process.
#pragma once

#include <cstdint>

#include "cases/case.h"
#include "fixtures/disk/run_directory.h"
#include "fixtures/filesystem/recipe.h"
#include "harness/report/report.h"

namespace holdfast {

/// Makes the filesystem, runs the case, unmounts and checks, and tells all of it. Failures of the surroundings are
/// told, not thrown.
void run_case(const Case& one, const Recipe& recipe, const RunDirectory& directory, std::uint64_t seed,
              const Tell& tell);

}  // namespace holdfast
