#include "harness/judge/judge.h"

#include <algorithm>

#include "harness/judge/reason.h"

namespace holdfast {
namespace {

// Judges one case's observations, each in the light of all.
class Bench {
 public:
    Bench(const InForce& rules, const std::vector<Observation>& observations)
        : rules_(rules), observations_(observations) {}

    [[nodiscard]] JudgedObservation judge(const Observation& observation) const {
        const auto expected = rules_.expected.find(observation.name);
        return expected != rules_.expected.end() ? judge_expected(observation, expected->second)
                                                 : judge_unexpected(observation);
    }

 private:
    [[nodiscard]] JudgedObservation judge_expected(const Observation& observation,
                                                   const ExpectedValue& expected) const {
        JudgedObservation judged{observation, expected.json(), Verdict::pass};
        if (const auto rule = rules_.overrides.find(observation.name); rule != rules_.overrides.end())
            judged.source = rule->second->source;
        if (!expected.matches(observation.value))
            give(judged, find_explaining(observation), Verdict::xfail);
        else if (const auto* const limitation = find_contradicting(observation); limitation && expected.judged())
            give(judged, limitation, Verdict::xpass);
        return judged;
    }

    [[nodiscard]] JudgedObservation judge_unexpected(const Observation& observation) const {
        JudgedObservation judged{observation, nullptr, Verdict::fail};
        const auto* const explaining = find_explaining(observation);
        const auto* const listing = explaining != nullptr ? explaining : find_listing(observation);
        if (listing != nullptr) judged.expected = listing->observe.find(observation.name)->second.json();
        give(judged, explaining, Verdict::xfail);
        return judged;
    }

    // The verdict where there is a limitation to give it, else FAIL.
    static void give(JudgedObservation& judged, const Limitation* limitation, Verdict verdict) {
        judged.verdict = limitation != nullptr ? verdict : Verdict::fail;
        if (limitation == nullptr) return;
        judged.limitation = limitation->why;
        judged.source = limitation->source;
    }

    template <typename Predicate>
    [[nodiscard]] const Limitation* find_limitation(Predicate predicate) const {
        const auto found = std::find_if(rules_.limitations.begin(), rules_.limitations.end(),
                                        [&](const Limitation* limitation) { return predicate(*limitation); });
        return found == rules_.limitations.end() ? nullptr : *found;
    }

    [[nodiscard]] const Limitation* find_explaining(const Observation& observation) const {
        return find_limitation([&](const Limitation& one) { return explains(one, observation, observations_); });
    }

    [[nodiscard]] const Limitation* find_contradicting(const Observation& observation) const {
        return find_limitation([&](const Limitation& one) {
            const auto listed = one.observe.find(observation.name);
            return listed != one.observe.end() && !listed->second.matches(observation.value);
        });
    }

    [[nodiscard]] const Limitation* find_listing(const Observation& observation) const {
        return find_limitation([&](const Limitation& one) { return one.observe.contains(observation.name); });
    }

    const InForce& rules_;
    const std::vector<Observation>& observations_;
};

bool is_reported(std::string_view name, const std::vector<Observation>& observations) {
    return std::any_of(observations.begin(), observations.end(), [&](const auto& one) { return one.name == name; });
}

Verdict worst(const std::vector<JudgedObservation>& judged) {
    auto verdict = Verdict::pass;
    for (const auto& one : judged) verdict = worse(verdict, one.verdict);
    return verdict;
}

void add_silent(const InForce& rules, const std::vector<Observation>& observations,
                std::vector<JudgedObservation>& judged) {
    for (const auto& [name, expected] : rules.expected)
        if (expected.judged() && !is_reported(name, observations))
            judged.push_back({{.name = name, .value = nullptr}, expected.json(), Verdict::fail});
}

}  // namespace

bool explains(const Limitation& limitation, const Observation& observation,
              const std::vector<Observation>& observations) {
    const auto listed = limitation.observe.find(observation.name);
    if (listed == limitation.observe.end() || !listed->second.matches(observation.value)) return false;
    return std::all_of(observations.begin(), observations.end(), [&](const Observation& other) {
        if (other.name == observation.name) return true;
        const auto also = limitation.observe.find(other.name);
        return also == limitation.observe.end() || also->second.matches(other.value);
    });
}

InForce in_force(const Expectation& expectation, const Subject& subject, const Profile& profile) {
    InForce rules{.expected = expectation.contract, .overrides = {}, .limitations = {}, .dropped = {}};
    for (const auto& rule : expectation.overrides) {
        if (!rule.scope.covers(subject.filesystem, subject.kernel)) continue;
        for (const auto& [name, value] : rule.expect) {
            rules.expected.insert_or_assign(name, value);
            rules.overrides.insert_or_assign(name, &rule);
        }
    }
    for (const auto& limitation : expectation.limitations) {
        if (!limitation.scope.covers(subject.filesystem, subject.kernel)) continue;
        const bool dropped = profile.drops_limitation(subject.case_name, subject.filesystem, limitation);
        (dropped ? rules.dropped : rules.limitations).push_back(&limitation);
    }
    return rules;
}

Judgement judge(const Subject& subject, const Expectations& expectations, const Profile& profile,
                const std::vector<Observation>& observations) {
    const auto* const expectation = expectations.find(subject.case_name);
    const auto rules = expectation != nullptr ? in_force(*expectation, subject, profile) : InForce{};
    const Bench bench{rules, observations};
    Judgement judgement{.verdict = Verdict::fail, .reason = {}, .observations = {}};
    for (const auto& observation : observations) judgement.observations.push_back(bench.judge(observation));
    if (observations.empty()) {
        judgement.reason = "the case reported nothing";
        return judgement;
    }
    judgement.verdict = worst(judgement.observations);
    if (judgement.verdict == Verdict::pass || judgement.verdict == Verdict::xpass) {
        add_silent(rules, observations, judgement.observations);
        judgement.verdict = worst(judgement.observations);
    }
    judgement.reason = expectation != nullptr ? reason_for(judgement, rules, profile)
                                              : "no expectation covers " + std::string{subject.case_name};
    return judgement;
}

}  // namespace holdfast
