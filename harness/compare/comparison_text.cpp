#include "harness/compare/comparison_text.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace holdfast {
namespace {

using nlohmann::json;

constexpr std::size_t most_observations = 4;
constexpr std::size_t most_names = 8;

// Cases that changed alike.
struct Row {
    const CaseChange* change;
    std::string what;
    std::vector<std::string> filesystems;
};

std::string describe_verdicts(const CaseChange& change) {
    if (change.before == change.after) return std::string{verdict_text(change.after)};
    return fmt::format("{} -> {}", verdict_text(change.before), verdict_text(change.after));
}

std::string describe(const CaseChange& change) {
    auto text = describe_verdicts(change);
    std::vector<std::string> parts;
    for (const auto& observation : change.observations) {
        if (parts.size() == most_observations) {
            parts.push_back(fmt::format("{} more", change.observations.size() - most_observations));
            break;
        }
        parts.push_back(fmt::format("{}: {} -> {}", observation.name, observation.before, observation.after));
    }
    if (!parts.empty()) text += fmt::format("; {}", fmt::join(parts, "; "));
    const bool verdict_says_more = change.before != change.after && change.after != Verdict::xfail;
    if (verdict_says_more && !change.reason.empty()) text += fmt::format(" ({})", change.reason);
    return text;
}

std::vector<Row> rows_of(const Comparison& comparison, Change change) {
    std::vector<Row> rows;
    for (const auto& one : comparison.cases) {
        if (one.change != change) continue;
        auto what = describe(one);
        const auto alike = std::ranges::find_if(
            rows, [&](const Row& row) { return row.change->name == one.name && row.what == what; });
        if (alike != rows.end())
            alike->filesystems.push_back(one.filesystem);
        else
            rows.push_back({&one, std::move(what), {one.filesystem}});
    }
    return rows;
}

std::string format_stack(const std::vector<std::string>& stack) {
    return stack.empty() ? "no stack" : fmt::format("{}", fmt::join(stack, " < "));
}

std::string format_row(const Row& row) {
    auto text = fmt::format("  {} on {}: {}\n", row.change->name, fmt::join(row.filesystems, ", "), row.what);
    for (const auto& observation : row.change->observations) {
        if (observation.stack_before.empty() && observation.stack_after.empty()) continue;
        text += fmt::format("      {}, stack before: {}\n", observation.name, format_stack(observation.stack_before));
        text += fmt::format("      {}, stack after:  {}\n", observation.name, format_stack(observation.stack_after));
    }
    return text;
}

std::string format_names(const char* what, const std::vector<std::string>& names) {
    if (names.empty()) return {};
    const auto shown = std::min(names.size(), most_names);
    const auto rest = names.size() - shown;
    return fmt::format("{}: {} ({}{})\n", what, names.size(),
                       fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                       rest == 0 ? "" : ", ...");
}

std::string describe_run(const Results& results) {
    return fmt::format("{} on kernel {}, profile {}", results.run.id, results.machine.kernel_release,
                       results.run.profile);
}

json side_to_json(const Results& results) {
    return {{"run", to_json(results.run)}, {"machine", to_json(results.machine)}};
}

json observation_to_json(const ObservationChange& observation) {
    return {{"name", observation.name},
            {"change", change_text(observation.change)},
            {"before", observation.before},
            {"after", observation.after},
            {"stack_before", observation.stack_before},
            {"stack_after", observation.stack_after}};
}

}  // namespace

std::string format_comparison(const Comparison& comparison, const Results& before, const Results& after) {
    auto text = fmt::format("before  {}\nafter   {}\n", describe_run(before), describe_run(after));
    std::vector<std::string> counts;
    for (const auto change : all_changes) {
        const auto count = comparison.count(change);
        if (count > 0) counts.push_back(fmt::format("{} {}", count, change_text(change)));
        if (count == 0 || change == Change::same) continue;
        text += fmt::format("\n{}\n", change_text(change));
        for (const auto& row : rows_of(comparison, change)) text += format_row(row);
    }
    text += "\n";
    text += format_names("only before", comparison.only_before);
    text += format_names("only after", comparison.only_after);
    text += fmt::format("{} cases in both: {}\n", comparison.cases.size(),
                        counts.empty() ? "nothing to compare" : fmt::format("{}", fmt::join(counts, ", ")));
    return text;
}

json to_json(const Comparison& comparison, const Results& before, const Results& after) {
    auto cases = json::array();
    json counts;
    for (const auto change : all_changes) counts[std::string{change_text(change)}] = comparison.count(change);
    for (const auto& one : comparison.cases) {
        if (one.change == Change::same) continue;
        auto observations = json::array();
        for (const auto& observation : one.observations) observations.push_back(observation_to_json(observation));
        cases.push_back({{"case", one.name},
                         {"filesystem", one.filesystem},
                         {"change", change_text(one.change)},
                         {"before", verdict_text(one.before)},
                         {"after", verdict_text(one.after)},
                         {"reason", one.reason},
                         {"observations", std::move(observations)}});
    }
    return {{"schema", "holdfast-comparison/1"},
            {"before", side_to_json(before)},
            {"after", side_to_json(after)},
            {"changes", std::move(cases)},
            {"only_before", comparison.only_before},
            {"only_after", comparison.only_after},
            {"counts", std::move(counts)}};
}

}  // namespace holdfast
