#include "harness/compare/comparison.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace holdfast {
namespace {

using nlohmann::json;

// All that the repetitions of a case say of one observation.
struct Seen {
    std::set<std::string> values;
    Verdict verdict = Verdict::pass;
    std::vector<std::string> stack;
    /// Of numbers.
    std::optional<std::pair<double, double>> range;
};

struct Answer {
    Verdict verdict = Verdict::pass;
    std::string reason;
    /// By name, and the names in the order in which they were reported.
    std::map<std::string, Seen> seen;
    std::vector<std::string> names;
};

using Key = std::pair<std::string, std::string>;
struct Answers {
    std::map<Key, Answer> by_key;
    std::vector<Key> order;
};

bool answers(Verdict verdict) { return verdict != Verdict::skip && verdict != Verdict::broken; }

// How far from the contract, among verdicts that answer.
int distance(Verdict verdict) {
    switch (verdict) {
        case Verdict::xfail:
            return 1;
        case Verdict::fail:
            return 2;
        case Verdict::hang:
            return 3;
        case Verdict::crash:
            return 4;
        default:
            return 0;
    }
}

Change change_of(Verdict before, Verdict after) {
    if (answers(before) != answers(after)) return answers(before) ? Change::lost : Change::fresh;
    if (!answers(before) || distance(before) == distance(after)) return Change::same;
    return distance(before) < distance(after) ? Change::worse : Change::better;
}

void widen(std::optional<std::pair<double, double>>& range, const json& number) {
    if (!number.is_number()) return;
    const auto value = number.get<double>();
    range = range ? std::pair{std::min(range->first, value), std::max(range->second, value)} : std::pair{value, value};
}

std::string text_of(const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

std::vector<std::string> stack_of(const json& evidence) {
    const auto found = evidence.find("stack");
    if (found == evidence.end() || !found->is_array()) return {};
    std::vector<std::string> stack;
    for (const auto& function : *found) stack.push_back(text_of(function));
    return stack;
}

void add(Answer& answer, const JudgedObservation& judged) {
    const auto& observation = judged.observation;
    if (observation.value.is_null()) return;  // expected, but not reported
    const auto [place, fresh] = answer.seen.try_emplace(observation.name);
    if (fresh) answer.names.push_back(observation.name);
    auto& seen = place->second;
    seen.values.insert(text_of(observation.value));
    seen.verdict = fresh ? judged.verdict : worse(seen.verdict, judged.verdict);
    if (seen.stack.empty()) seen.stack = stack_of(observation.evidence);
    widen(seen.range, observation.value);
    for (const auto& sample : observation.samples) widen(seen.range, sample);
}

Answers answers_of(const Results& results) {
    Answers all;
    for (const auto& result : results.cases) {
        const Key key{result.name, result.filesystem};
        const auto [place, fresh] = all.by_key.try_emplace(key);
        if (fresh) all.order.push_back(key);
        auto& answer = place->second;
        if (fresh || worse(answer.verdict, result.verdict) != answer.verdict) {
            answer.verdict = result.verdict;
            answer.reason = result.reason;
        }
        for (const auto& judged : result.observations) add(answer, judged);
    }
    return all;
}

std::string describe(const Seen& seen) {
    if (seen.range && seen.range->first != seen.range->second)
        return fmt::format("{:g} to {:g}", seen.range->first, seen.range->second);
    return fmt::format("{}", fmt::join(seen.values, " or "));
}

bool is_same(const Seen& before, const Seen& after) {
    if (before.range && after.range)
        return before.range->first <= after.range->second && after.range->first <= before.range->second;
    return before.values == after.values;
}

ObservationChange compare_observation(const std::string& name, const Seen& before, const Seen& after) {
    auto change = change_of(before.verdict, after.verdict);
    if (change == Change::same && !is_same(before, after)) change = Change::changed;
    ObservationChange result{.name = name, .change = change, .before = describe(before), .after = describe(after)};
    if (change != Change::same && before.stack != after.stack) {
        result.stack_before = before.stack;
        result.stack_after = after.stack;
    }
    return result;
}

std::vector<ObservationChange> compare_observations(const Answer& before, const Answer& after) {
    std::vector<ObservationChange> changes;
    for (const auto& name : before.names) {
        const auto& was = before.seen.at(name);
        const auto found = after.seen.find(name);
        auto change = found == after.seen.end()
                          ? ObservationChange{.name = name, .before = describe(was), .after = "nothing"}
                          : compare_observation(name, was, found->second);
        if (change.change != Change::same) changes.push_back(std::move(change));
    }
    for (const auto& name : after.names)
        if (!before.seen.contains(name))
            changes.push_back({.name = name, .before = "nothing", .after = describe(after.seen.at(name))});
    std::ranges::stable_sort(changes, {}, &ObservationChange::change);
    return changes;
}

// What one observation gained does not make up for what another lost.
CaseChange compare_case(const Key& key, const Answer& before, const Answer& after) {
    CaseChange result{.name = key.first,
                      .filesystem = key.second,
                      .change = change_of(before.verdict, after.verdict),
                      .before = before.verdict,
                      .after = after.verdict,
                      .reason = after.reason};
    if (!answers(before.verdict) || !answers(after.verdict)) return result;
    result.observations = compare_observations(before, after);
    for (const auto& observation : result.observations) result.change = std::min(result.change, observation.change);
    return result;
}

std::string name_of(const Key& key) { return key.first + "/" + key.second; }

}  // namespace

std::string_view change_text(Change change) {
    switch (change) {
        case Change::worse:
            return "worse";
        case Change::lost:
            return "lost";
        case Change::better:
            return "better";
        case Change::fresh:
            return "new";
        case Change::changed:
            return "changed";
        case Change::same:
            return "same";
    }
    return "";
}

std::size_t Comparison::count(Change change) const {
    return static_cast<std::size_t>(std::ranges::count(cases, change, &CaseChange::change));
}

Comparison compare(const Results& before, const Results& after) {
    const auto first = answers_of(before);
    const auto second = answers_of(after);
    Comparison comparison;
    for (const auto& key : first.order) {
        const auto found = second.by_key.find(key);
        if (found == second.by_key.end())
            comparison.only_before.push_back(name_of(key));
        else
            comparison.cases.push_back(compare_case(key, first.by_key.at(key), found->second));
    }
    for (const auto& key : second.order)
        if (!first.by_key.contains(key)) comparison.only_after.push_back(name_of(key));
    std::ranges::stable_sort(comparison.cases, [](const CaseChange& one, const CaseChange& other) {
        if (one.change != other.change) return one.change < other.change;
        return distance(one.after) > distance(other.after);
    });
    return comparison;
}

}  // namespace holdfast
