// holdfast compare: two runs side by side.
#include <memory>

#include <fmt/format.h>

#include "fixtures/base/failure.h"
#include "harness/compare/baseline.h"
#include "harness/compare/comparison_text.h"
#include "harness/results/result_file.h"
#include "harness/verbs/verb.h"

namespace holdfast {
namespace {

struct CompareOptions {
    std::vector<std::filesystem::path> files;
    std::string baseline;
    bool json = false;
};

int compare_files(const CompareOptions& options) {
    const bool against_baseline = !options.baseline.empty();
    if (options.files.size() != (against_baseline ? 1U : 2U))
        throw BadInput(against_baseline ? "with --baseline, one result file is compared"
                                        : "two result files are compared: before and after");
    const auto before = read_result_file(against_baseline ? find_baseline(options.baseline) : options.files.front());
    const auto after = read_result_file(options.files.back());
    const auto comparison = compare(before, after);
    if (options.json)
        fmt::print("{}\n",
                   to_json(comparison, before, after).dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    else
        fmt::print("{}", format_comparison(comparison, before, after));
    if (comparison.cases.empty()) throw BadInput("the two files have no case in common");
    return comparison.is_worse() ? 1 : 0;
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
    const auto options = std::make_shared<CompareOptions>();
    auto* verb = app.add_subcommand("compare", "Compare two runs: what got worse, lost, better, new, changed");
    verb->add_option("files", options->files, "Result files: before and after")->required()->expected(1, 2);
    verb->add_option("--baseline", options->baseline,
                     "Compare with the recorded results of a reference kernel, such as 6.1, in place of a first file");
    verb->add_flag("--json", options->json, "Print JSON");
    verb->footer(
        "Example: holdfast compare --baseline 6.1 results/20240501-120000-3f9a.json\n"
        "Exit status: 0 nothing is worse; 1 a verdict got worse, or an answer was lost; 2 a file cannot be used.");
    verb->callback([&action, options] { action = [options] { return compare_files(*options); }; });
}

}  // namespace holdfast
