// Running a published workload at the sizes that it had.
#pragma once

#include <vector>

#include "cases/case.h"
#include "fixtures/filesystem/recipe.h"

namespace holdfast {

/// The recipe, with room for the case at the sizes that were published; the recipe itself where the case has none.
[[nodiscard]] Recipe at_full_size(const Case& one, Recipe recipe);

/// What this machine lacks for that, besides what the case always needs: memory, limits.
[[nodiscard]] std::vector<Missing> find_missing_for_full_size(const Case& one, const Recipe& recipe);

}  // namespace holdfast
