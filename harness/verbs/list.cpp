// holdfast list: cases x filesystems, what each needs, what is expected. Runs nothing.
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fixtures/base/bytes.h"
#include "harness/catalogue/plan.h"
#include "harness/judge/judge.h"
#include "harness/report/conclude.h"
#include "harness/verbs/verb.h"

namespace holdfast {
namespace {

struct ListOptions {
    PlanOptions plan;
    OwnFiles own;
    std::string profile = "mainline";
    bool json = false;
};

// What this kernel is expected to do: the contract, or a limitation.
struct Expected {
    std::string verdict;
    std::vector<std::string> limitations;
};

Expected expected_of(const Catalogue& catalogue, const Planned& planned, const Profile& profile) {
    const auto* expectation = catalogue.expectations.find(planned.one->name);
    if (expectation == nullptr) return {.verdict = "no expectation", .limitations = {}};
    const auto force =
        in_force(*expectation, {planned.one->name, planned.recipe->name, KernelVersion::running()}, profile);
    Expected expected{.verdict = force.limitations.empty() ? "PASS" : "XFAIL", .limitations = {}};
    for (const auto* limitation : force.limitations)
        expected.limitations.push_back(fmt::format("{} ({})", limitation->why, limitation->source));
    return expected;
}

nlohmann::json describe(const Catalogue& catalogue, const Planned& planned, const Profile& profile) {
    const auto expected = expected_of(catalogue, planned, profile);
    auto needs = nlohmann::json::array();
    for (const auto& need : planned.recipe->needs) needs.push_back(need.text());
    for (const auto& need : planned.one->needs) needs.push_back(need.text());
    return {{"case", planned.one->name},
            {"family", planned.one->family()},
            {"filesystem", planned.recipe->name},
            {"summary", planned.one->summary},
            {"needs", needs},
            {"missing", missing_for(*planned.one, *planned.recipe)},
            {"expected", expected.verdict},
            {"limitations", expected.limitations}};
}

void print_filesystems(const std::vector<const Recipe*>& recipes) {
    fmt::print("Filesystems\n");
    for (const auto* recipe : recipes)
        fmt::print("  {:<20} {:>5}  {}\n", recipe->name, format_bytes(recipe->size), recipe->describes);
}

void print_case(const Catalogue& catalogue, const std::vector<Planned>& plan, std::size_t first, std::size_t last,
                const Profile& profile) {
    const auto& one = *plan[first].one;
    fmt::print("\n{}\n  This case {}.\n", one.name, one.summary);
    std::vector<std::string> needs;
    for (const auto& need : one.needs) needs.push_back(need.text());
    if (!needs.empty()) fmt::print("  Needs {}.\n", fmt::join(needs, ", "));
    for (auto index = first; index < last; ++index) {
        const auto& planned = plan[index];
        const auto missing = missing_for(one, *planned.recipe);
        const auto expected = expected_of(catalogue, planned, profile);
        fmt::print("    {:<20} {}\n", planned.recipe->name,
                   missing.empty() ? expected.verdict : fmt::format("SKIP: {}", missing));
    }
}

void print_text(const Catalogue& catalogue, const std::vector<Planned>& plan, const Profile& profile) {
    std::vector<const Recipe*> recipes;
    for (const auto& planned : plan)
        if (std::ranges::find(recipes, planned.recipe) == recipes.end()) recipes.push_back(planned.recipe);
    print_filesystems(recipes);
    for (std::size_t first = 0, last = 0; first < plan.size(); first = last) {
        while (last < plan.size() && plan[last].one == plan[first].one) ++last;
        print_case(catalogue, plan, first, last, profile);
    }
    fmt::print("\nBeside each filesystem: the verdict expected on this kernel. `holdfast explain CASE` says why.\n");
}

int list(const Contents& contents, const ListOptions& options) {
    const auto catalogue = Catalogue::load(contents, options.own);
    const auto& profile = find_profile(catalogue.profiles, options.profile);
    const auto plan = make_plan(catalogue, options.plan);
    if (!options.json) {
        print_text(catalogue, plan, profile);
        return 0;
    }
    auto entries = nlohmann::json::array();
    for (const auto& planned : plan) entries.push_back(describe(catalogue, planned, profile));
    fmt::print("{}\n", entries.dump(2));
    return 0;
}

}  // namespace

void add_list(CLI::App& app, const Contents& contents, Action& action) {
    const auto options = std::make_shared<ListOptions>();
    options->plan.every_case = true;
    auto* verb = app.add_subcommand("list", "Show cases and filesystems, what each needs and what is expected");
    verb->add_option("filter", options->plan.filter, "Cases to show, as for `run`");
    verb->add_option("--filesystem", options->plan.filesystems, "Filesystems to show")
        ->delimiter(',')
        ->allow_extra_args(false);
    verb->add_option("--matrix", options->plan.matrix, "default or extended")->capture_default_str();
    verb->add_option("--profile", options->profile, "The set of expectations")->capture_default_str();
    verb->add_option("--recipe", options->own.recipes, "A filesystem of your own (a file)")->allow_extra_args(false);
    verb->add_option("--expectations", options->own.expectations, "Expectations of your own (a file)")
        ->allow_extra_args(false);
    verb->add_flag("--json", options->json, "Print JSON");
    verb->footer("Example: holdfast list 'aio_append.*' --matrix extended");
    verb->callback(
        [&action, &contents, options] { action = [&contents, options] { return list(contents, *options); }; });
}

}  // namespace holdfast
