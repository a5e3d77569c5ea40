// Running one case on one filesystem, in this process.
#pragma once

#include <cstdint>

#include "cases/case.h"
#include "cases/experiment.h"
#include "fixtures/disk/run_directory.h"
#include "fixtures/filesystem/recipe.h"
#include "fixtures/filesystem/template.h"
#include "harness/report/report.h"

namespace holdfast {

/// What a case gets on this machine: a file in place of a held disk where it can do with one, and there is no FUSE or the
/// recipe is too large to be held in memory.
[[nodiscard]] DiskKind disk_kind_for(const Case& one, const Recipe& recipe);

/// Makes the filesystem, runs the case, unmounts and checks, and tells all of it. Failures of the surroundings are
/// told, not thrown.
void run_case(const Case& one, const Recipe& recipe, const RunDirectory& directory, const CaseOptions& options,
              const Tell& tell);

}  // namespace holdfast
