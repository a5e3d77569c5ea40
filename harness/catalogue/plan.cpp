#include "harness/catalogue/plan.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include <fmt/format.h>

#include "fixtures/base/failure.h"

namespace holdfast {
namespace {

bool matches_pattern(std::string_view pattern, std::string_view name) {
    if (pattern.empty()) return name.empty();
    if (pattern.front() == '*') {
        for (std::size_t skipped = 0; skipped <= name.size(); ++skipped)
            if (matches_pattern(pattern.substr(1), name.substr(skipped))) return true;
        return false;
    }
    if (name.empty() || (pattern.front() != '?' && pattern.front() != name.front())) return false;
    return matches_pattern(pattern.substr(1), name.substr(1));
}

bool matches_one_of(std::string_view patterns, std::string_view name) {
    const auto case_name = name.substr(0, name.find('/'));
    while (true) {
        const auto end = std::min(patterns.find(':'), patterns.size());
        const auto pattern = patterns.substr(0, end);
        const bool of_cases = pattern.find('/') == std::string_view::npos;
        if (matches_pattern(pattern, name) || (of_cases && matches_pattern(pattern, case_name))) return true;
        if (end == patterns.size()) return false;
        patterns.remove_prefix(end + 1);
    }
}

// Whether a filter asks for a case by its family's name at least, rather than for everything.
bool names_family(std::string_view filter, const Case& one) {
    auto patterns = filter.substr(0, find_exclusions(filter));
    const auto family = fmt::format("{}.", one.family());
    while (!patterns.empty()) {
        const auto end = std::min(patterns.find(':'), patterns.size());
        if (patterns.substr(0, end).starts_with(family)) return true;
        patterns.remove_prefix(std::min(end + 1, patterns.size()));
    }
    return false;
}

std::vector<const Recipe*> chosen_recipes(const Catalogue& catalogue, const PlanOptions& options) {
    auto names = options.filesystems;
    if (names.empty()) names = catalogue.own_recipes;
    std::vector<const Recipe*> chosen;
    for (const auto& name : names) {
        const auto* recipe = &catalogue.find_recipe(name);
        if (std::ranges::find(chosen, recipe) == chosen.end()) chosen.push_back(recipe);
    }
    if (!chosen.empty()) return chosen;
    if (options.matrix != "default" && options.matrix != "extended")
        throw BadInput(fmt::format("no matrix \"{}\"; there are: default, extended", options.matrix));
    for (const auto& recipe : catalogue.recipes)
        if (recipe.in_default_matrix || options.matrix == "extended") chosen.push_back(&recipe);
    return chosen;
}

// A filter that names a filesystem outright ("aio_append.at_eof/btrfs") finds it whatever the matrix is.
std::vector<const Recipe*> recipes_of_filter(const Catalogue& catalogue, std::string_view filter) {
    std::vector<const Recipe*> named;
    if (filter.find('/') == std::string_view::npos) return named;
    for (const auto& recipe : catalogue.recipes)
        for (const auto* one : catalogue.cases)
            if (matches_filter(filter, Planned{one, &recipe}.name())) {
                named.push_back(&recipe);
                break;
            }
    return named;
}

unsigned number_of(const char* variable, const char* text) {
    unsigned number = 0;
    const std::string_view view{text};
    const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), number);
    if (error != std::errc{} || end != view.data() + view.size())
        throw BadInput(fmt::format("{}: expected a number, found \"{}\"", variable, text));
    return number;
}

}  // namespace

// What follows a '-' that leaves out is a pattern: it has a '.', a '/' or a wildcard. What follows one in a name has not.
std::size_t find_exclusions(std::string_view filter) {
    for (auto dash = filter.find('-'); dash != std::string_view::npos; dash = filter.find('-', dash + 1)) {
        const auto next = filter.substr(dash + 1, filter.find_first_of(":-", dash + 1) - dash - 1);
        if (next.find_first_of("./*?") != std::string_view::npos) return dash;
    }
    return std::string_view::npos;
}

std::string filter_for_gtest(std::string_view filter) {
    std::string result{filter};
    const auto exclusions = find_exclusions(filter);
    for (std::size_t index = 0; index < result.size(); ++index)
        if (result[index] == '-' && index != exclusions) result[index] = '?';
    return result;
}

bool matches_filter(std::string_view filter, std::string_view name) {
    const auto dash = find_exclusions(filter);
    const auto wanted = filter.substr(0, dash);
    if (!matches_one_of(wanted.empty() ? "*" : wanted, name)) return false;
    return dash == std::string_view::npos || !matches_one_of(filter.substr(dash + 1), name);
}

std::vector<Planned> make_plan(const Catalogue& catalogue, const PlanOptions& options) {
    auto recipes = chosen_recipes(catalogue, options);
    const auto select = [&] {
        std::vector<Planned> plan;
        for (const auto* one : catalogue.cases) {
            if (one->only_by_name && !options.every_case && !names_family(options.filter, *one)) continue;
            for (const auto* recipe : recipes)
                if (const Planned planned{one, recipe}; matches_filter(options.filter, planned.name()))
                    plan.push_back(planned);
        }
        return plan;
    };
    auto once = select();
    if (once.empty() && options.filesystems.empty()) {
        recipes = recipes_of_filter(catalogue, options.filter);
        once = select();
    }
    if (once.empty())
        throw BadInput(fmt::format("no case matches \"{}\"; `holdfast list` shows them all", options.filter));
    std::vector<Planned> plan;
    std::size_t index = 0;
    for (unsigned repetition = 1; repetition <= options.repeat; ++repetition)
        for (const auto& planned : once) {
            if (options.shard && index++ % options.shard->total != options.shard->index) continue;
            plan.push_back({planned.one, planned.recipe, repetition});
        }
    return plan;
}

std::optional<Shard> shard_from_environment() {
    const char* index = std::getenv("GTEST_SHARD_INDEX");
    const char* total = std::getenv("GTEST_TOTAL_SHARDS");
    if (index == nullptr || total == nullptr) return std::nullopt;
    const Shard shard{number_of("GTEST_SHARD_INDEX", index), number_of("GTEST_TOTAL_SHARDS", total)};
    if (shard.index >= shard.total)
        throw BadInput(fmt::format("GTEST_SHARD_INDEX: expected less than GTEST_TOTAL_SHARDS ({}), found {}",
                                   shard.total, shard.index));
    return shard;
}

}  // namespace holdfast
