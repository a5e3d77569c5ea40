// holdfast doctor: what this machine lacks for which cases, and what to do about it.
#include <map>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/catalogue/plan.h"
#include "harness/verbs/verb.h"

namespace holdfast {
namespace {

struct DoctorOptions {
    std::string matrix = "extended";
    OwnFiles own;
    bool json = false;
};

struct Lack {
    std::string remedy;
    std::vector<std::string> affected;
};

// By what is missing.
using Lacks = std::map<std::string, Lack>;

void add(Lacks& lacks, const std::vector<Missing>& missing, const std::string& affected) {
    for (const auto& one : missing) {
        auto& lack = lacks[one.what];
        lack.remedy = one.remedy;
        lack.affected.push_back(affected);
    }
}

Lacks find_lacks(const Catalogue& catalogue, const std::vector<Planned>& plan) {
    Lacks lacks;
    add(lacks, find_missing_for_any_run(), "every case");
    std::vector<const Recipe*> recipes;
    for (const auto& planned : plan)
        if (std::ranges::find(recipes, planned.recipe) == recipes.end()) recipes.push_back(planned.recipe);
    for (const auto* recipe : recipes) add(lacks, find_missing(recipe->needs), "every case on " + recipe->name);
    for (const auto* one : catalogue.cases)
        add(lacks, find_missing(one->needs), fmt::format("{} on every filesystem", one->name));
    return lacks;
}

int doctor(const Contents& contents, const DoctorOptions& options) {
    const auto catalogue = Catalogue::load(contents, options.own);
    const auto plan = make_plan(catalogue, {.filter = "*", .matrix = options.matrix, .every_case = true});
    const auto lacks = find_lacks(catalogue, plan);
    if (options.json) {
        auto entries = nlohmann::json::array();
        for (const auto& [what, lack] : lacks)
            entries.push_back({{"missing", what}, {"remedy", lack.remedy}, {"affects", lack.affected}});
        fmt::print("{}\n", entries.dump(2));
        return 0;
    }
    for (const auto& [what, lack] : lacks) {
        fmt::print("{}\n", what);
        if (!lack.remedy.empty()) fmt::print("  do:      {}\n", lack.remedy);
        fmt::print("  affects: {}\n", fmt::join(lack.affected, ", "));
    }
    if (lacks.empty())
        fmt::print("This machine has all that the {} cases on {} filesystems need.\n", catalogue.cases.size(),
                   catalogue.recipes.size());
    return 0;
}

}  // namespace

void add_doctor(CLI::App& app, const Contents& contents, Action& action) {
    const auto options = std::make_shared<DoctorOptions>();
    auto* verb = app.add_subcommand("doctor", "Say what this machine lacks for which cases, and what to do about it");
    verb->add_option("--matrix", options->matrix, "The filesystems to look at: default or extended")
        ->capture_default_str();
    verb->add_option("--recipe", options->own.recipes, "A filesystem of your own (a file)")->allow_extra_args(false);
    verb->add_flag("--json", options->json, "Print JSON");
    verb->footer("Example: holdfast doctor");
    verb->callback(
        [&action, &contents, options] { action = [&contents, options] { return doctor(contents, *options); }; });
}

}  // namespace holdfast
