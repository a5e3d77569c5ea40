#include "harness/catalogue/catalogue.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cases/shipped.h"
#include "fixtures/base/failure.h"

namespace holdfast {
namespace {

Value parse(const EmbeddedFile& file) { return Document::parse(file.text, std::string{file.name}); }

CaseNames names_of(std::span<const Case* const> cases) {
    CaseNames names;
    for (const auto* one : cases) names.emplace(one->name);
    return names;
}

void add_own_recipe(Catalogue& catalogue, const std::filesystem::path& file) {
    const auto document = Document::load(file);
    auto recipe = Recipe::parse(document);
    const auto same = [&](const Recipe& other) { return other.name == recipe.name; };
    if (std::ranges::any_of(catalogue.recipes, same))
        document.required("name").refuse("a name that no other filesystem has");
    catalogue.own_recipes.push_back(recipe.name);
    catalogue.recipes.push_back(std::move(recipe));
}

// The shipped profiles speak of the shipped cases.
std::vector<Profile> load_profiles() {
    std::vector<Profile> profiles;
    for (const auto& file : shipped_profiles())
        profiles.push_back(Profile::parse(parse(file), names_of(shipped_cases())));
    return profiles;
}

}  // namespace

Catalogue Catalogue::load(const Contents& contents, const OwnFiles& own) {
    const auto known = names_of(contents.cases);
    std::vector<Value> documents;
    for (const auto& file : contents.expectations) documents.push_back(parse(file));
    Catalogue catalogue{.cases = contents.cases,
                        .recipes = shipped_recipes(),
                        .own_recipes = {},
                        .expectations = Expectations::parse(documents, known),
                        .profiles = load_profiles()};
    for (const auto& file : own.recipes) add_own_recipe(catalogue, file);
    for (const auto& file : own.expectations) catalogue.expectations.replace(Document::load(file), known);
    return catalogue;
}

const Case& Catalogue::find_case(std::string_view name) const {
    for (const auto* one : cases)
        if (one->name == name) return *one;
    std::vector<std::string_view> names;
    for (const auto* one : cases) names.push_back(one->name);
    throw BadInput(fmt::format("no case \"{}\"; there are: {}", name, fmt::join(names, ", ")));
}

const Recipe& Catalogue::find_recipe(std::string_view name) const {
    for (const auto& recipe : recipes)
        if (recipe.name == name) return recipe;
    std::vector<std::string_view> names;
    for (const auto& recipe : recipes) names.push_back(recipe.name);
    throw BadInput(fmt::format("no filesystem \"{}\"; there are: {}", name, fmt::join(names, ", ")));
}

}  // namespace holdfast
