#include "harness/judge/reason.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace holdfast {
namespace {

// More deviations than this do not make a reason clearer; the observations have them all.
constexpr std::size_t most_named = 3;

std::vector<const JudgedObservation*> with_verdict(const Judgement& judgement, Verdict verdict) {
    std::vector<const JudgedObservation*> found;
    for (const auto& judged : judgement.observations)
        if (judged.verdict == verdict) found.push_back(&judged);
    return found;
}

std::string describe_limitation(std::string_view why, std::string_view source) {
    return fmt::format("{} ({})", why, source);
}

// The limitation that would have made it XFAIL, had the profile not dropped it.
const Limitation* find_dropped(const JudgedObservation& judged, const Judgement& judgement, const InForce& rules) {
    std::vector<Observation> observations;
    for (const auto& one : judgement.observations) observations.push_back(one.observation);
    const auto found = std::find_if(rules.dropped.begin(), rules.dropped.end(), [&](const Limitation* limitation) {
        return explains(*limitation, judged.observation, observations);
    });
    return found == rules.dropped.end() ? nullptr : *found;
}

std::string describe_failures(const Judgement& judgement, const InForce& rules, const Profile& profile) {
    auto failed = with_verdict(judgement, Verdict::fail);
    // What contradicts an expectation says more than what none covers.
    std::stable_partition(failed.begin(), failed.end(), [](const auto* judged) { return !judged->expected.is_null(); });
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < std::min(failed.size(), most_named); ++i)
        parts.push_back(describe_deviation(*failed[i]));
    if (failed.size() > most_named) parts.push_back(fmt::format("{} more", failed.size() - most_named));
    auto reason = fmt::format("{}", fmt::join(parts, "; "));
    if (const auto* const dropped = find_dropped(*failed.front(), judgement, rules))
        reason += fmt::format("; profile {} no longer allows: {}", profile.name,
                              describe_limitation(dropped->why, dropped->source));
    return reason;
}

// What several limitations say is said once, with all their sources.
std::vector<std::string> limitations_of(const std::vector<const JudgedObservation*>& judged) {
    struct Known {
        std::string_view why;
        std::vector<std::string_view> sources;
    };
    std::vector<Known> known;
    for (const auto* one : judged) {
        auto same = std::ranges::find(known, std::string_view{one->limitation}, &Known::why);
        if (same == known.end()) same = known.insert(same, Known{one->limitation, {}});
        if (std::ranges::find(same->sources, one->source) == same->sources.end()) same->sources.push_back(one->source);
    }
    std::vector<std::string> limitations;
    for (const auto& [why, sources] : known)
        limitations.push_back(describe_limitation(why, fmt::format("{}", fmt::join(sources, "; "))));
    return limitations;
}

std::string describe_improvement(const std::vector<const JudgedObservation*>& better) {
    const auto& first = better.front()->observation;
    const auto more = better.size() > 1 ? fmt::format(" and {} more", better.size() - 1) : "";
    return fmt::format("{} is {}{}, better than: {}", first.name, describe_value(first.value), more,
                       fmt::join(limitations_of(better), "; "));
}

}  // namespace

std::string describe_deviation(const JudgedObservation& judged) {
    const auto& [name, value, unit, samples, evidence] = judged.observation;
    if (judged.expected.is_null()) return fmt::format("no expectation covers {} ({})", name, describe_value(value));
    const auto expected = describe_expected(judged.expected);
    if (value.is_null()) return fmt::format("{} was not reported, expected {}", name, expected);
    return fmt::format("{} is {}{}{}, expected {}", name, describe_value(value), unit.empty() ? "" : " ", unit,
                       expected);
}

std::string reason_for(const Judgement& judgement, const InForce& rules, const Profile& profile) {
    if (judgement.verdict == Verdict::fail) return describe_failures(judgement, rules, profile);
    const auto better = with_verdict(judgement, Verdict::xpass);
    if (judgement.verdict == Verdict::xpass) return describe_improvement(better);
    if (judgement.verdict != Verdict::xfail) return {};
    auto reason = fmt::format("{}", fmt::join(limitations_of(with_verdict(judgement, Verdict::xfail)), "; "));
    if (!better.empty()) reason += "; XPASS: " + describe_improvement(better);
    return reason;
}

}  // namespace holdfast
