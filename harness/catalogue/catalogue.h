// All that the program knows before it runs anything: cases, filesystems, expectations, profiles.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fixtures/filesystem/recipe.h"
#include "harness/catalogue/contents.h"
#include "harness/judge/expectations.h"
#include "harness/judge/profile.h"

namespace holdfast {

/// The files of the user's own that the command line names.
struct OwnFiles {
    std::vector<std::filesystem::path> recipes;
    std::vector<std::filesystem::path> expectations;
};

struct Catalogue {
    std::span<const Case* const> cases;
    /// Shipped ones, default matrix first, then the user's own.
    std::vector<Recipe> recipes;
    /// Names of the user's own recipes.
    std::vector<std::string> own_recipes;
    Expectations expectations;
    std::vector<Profile> profiles;

    /// Throws BadInput where a file cannot be used, or a recipe has a name that another one has.
    [[nodiscard]] static Catalogue load(const Contents& contents, const OwnFiles& own);

    /// Throws BadInput naming all there are.
    [[nodiscard]] const Case& find_case(std::string_view name) const;
    [[nodiscard]] const Recipe& find_recipe(std::string_view name) const;
};

}  // namespace holdfast
