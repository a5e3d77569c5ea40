#include "harness/case_process/full_size.h"

#include <algorithm>

#include <fmt/format.h>

#include "fixtures/filesystem/space.h"

namespace holdfast {

Recipe at_full_size(const Case& one, Recipe recipe) {
    if (one.full) recipe.size = std::max(recipe.size, one.full->filesystem);
    return recipe;
}

// A held disk is in memory, wherever images are.
std::vector<Missing> find_missing_for_full_size(const Case& one, const Recipe& recipe) {
    if (!one.full) return {};
    auto missing = find_missing(one.full->needs);
    const auto bytes = at_full_size(one, recipe).size + one.full->memory;
    if (auto lack = find_missing_memory(bytes, fmt::format("{} in full", one.name)))
        missing.push_back(*std::move(lack));
    return missing;
}

}  // namespace holdfast
