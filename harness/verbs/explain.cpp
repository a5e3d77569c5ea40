// holdfast explain: what a case asks, how it finds out, and what is right.
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fixtures/base/failure.h"
#include "harness/catalogue/catalogue.h"
#include "harness/verbs/verb.h"

namespace holdfast {
namespace {

struct ExplainOptions {
    /// "CASE" or "CASE/FILESYSTEM".
    std::string subject;
    OwnFiles own;
    bool json = false;
};

nlohmann::json values_to_json(const ExpectedValues& values) {
    auto json = nlohmann::json::object();
    for (const auto& [name, value] : values) json[name] = value.json();
    return json;
}

template <typename Rule>
nlohmann::json rule_to_json(const Rule& rule, const ExpectedValues& values) {
    return {{"filesystems", rule.scope.filesystems},
            {"kernel", rule.scope.kernel.text()},
            {"observations", values_to_json(values)},
            {"why", rule.why},
            {"source", rule.source}};
}

// What is known of one filesystem alone, whatever the kernel.
Expectation narrowed_to(Expectation expectation, std::string_view filesystem) {
    const auto elsewhere = [&](const auto& rule) { return !matches_any(rule.scope.filesystems, filesystem); };
    std::erase_if(expectation.overrides, elsewhere);
    std::erase_if(expectation.limitations, elsewhere);
    return expectation;
}

nlohmann::json to_json(const Case& one, const Expectation& expectation) {
    auto per_filesystem = nlohmann::json::array();
    for (const auto& override : expectation.overrides)
        per_filesystem.push_back(rule_to_json(override, override.expect));
    auto limitations = nlohmann::json::array();
    for (const auto& limitation : expectation.limitations)
        limitations.push_back(rule_to_json(limitation, limitation.observe));
    return {{"case", one.name},
            {"summary", one.summary},
            {"method", one.method},
            {"contract", values_to_json(expectation.contract)},
            {"per_filesystem", per_filesystem},
            {"limitations", limitations}};
}

void print_values(const ExpectedValues& values, const char* indent) {
    for (const auto& [name, value] : values) fmt::print("{}{} = {}\n", indent, name, value.describe());
}

template <typename Rule>
void print_rule(const Rule& rule, const ExpectedValues& values) {
    const auto& kernel = rule.scope.kernel.text();
    fmt::print("  {}{}\n", fmt::join(rule.scope.filesystems, ", "),
               kernel.empty() ? std::string{} : fmt::format(", kernel {}", kernel));
    print_values(values, "    ");
    fmt::print("    because {}\n    source: {}\n", rule.why, rule.source);
}

void print_text(const Case& one, const Expectation& expectation, std::string_view filesystems) {
    fmt::print("{}\n\nThis case {}.\n\n{}\n\nContract: what any correct kernel does\n", one.name, one.summary,
               one.method);
    print_values(expectation.contract, "  ");
    if (!expectation.overrides.empty()) fmt::print("\nOn {}, just as right\n", filesystems);
    for (const auto& override : expectation.overrides) print_rule(override, override.expect);
    if (!expectation.limitations.empty()) fmt::print("\nKnown limitations (XFAIL; XPASS where the contract holds)\n");
    for (const auto& limitation : expectation.limitations) print_rule(limitation, limitation.observe);
}

int explain(const Contents& contents, const ExplainOptions& options) {
    const auto catalogue = Catalogue::load(contents, options.own);
    const auto slash = options.subject.find('/');
    const auto& one = catalogue.find_case(options.subject.substr(0, slash));
    const auto* known = catalogue.expectations.find(one.name);
    if (known == nullptr) throw BadInput(fmt::format("no expectations for {}", one.name));
    const auto expectation = slash == std::string::npos
                                 ? *known
                                 : narrowed_to(*known, catalogue.find_recipe(options.subject.substr(slash + 1)).name);
    if (options.json)
        fmt::print("{}\n", to_json(one, expectation).dump(2));
    else
        print_text(one, expectation,
                   slash == std::string::npos ? "some filesystems" : options.subject.substr(slash + 1));
    return 0;
}

}  // namespace

void add_explain(CLI::App& app, const Contents& contents, Action& action) {
    const auto options = std::make_shared<ExplainOptions>();
    auto* verb = app.add_subcommand("explain", "Say what a case asks, how it finds out, and what is right");
    verb->add_option(
            "case", options->subject,
            "The case, such as aio_append.at_eof; or aio_append.at_eof/ext4, for what is known of that filesystem")
        ->required();
    verb->add_option("--recipe", options->own.recipes, "A filesystem of your own (a file)")->allow_extra_args(false);
    verb->add_option("--expectations", options->own.expectations, "Expectations of your own (a file)")
        ->allow_extra_args(false);
    verb->add_flag("--json", options->json, "Print JSON");
    verb->footer("Example: holdfast explain aio_append.at_eof");
    verb->callback(
        [&action, &contents, options] { action = [&contents, options] { return explain(contents, *options); }; });
}

}  // namespace holdfast
