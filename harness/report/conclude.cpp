#include "harness/report/conclude.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fixtures/probe/kernel_version.h"

namespace holdfast {
namespace {

// What ended a case before it could say all it had to say, worst first; nothing where it came to its end.
bool take_crash(CaseResult& result, const CaseReport& report, const Ended& ended) {
    if (!ended.alarms.empty()) {
        result.reason = fmt::format("the kernel complained: {}", ended.alarms.front());
        result.evidence["alarms"] = ended.alarms;
    } else if (report.damage) {
        result.reason = fmt::format("the filesystem is damaged: {} found errors", report.damage->command);
    } else {
        return false;
    }
    if (report.damage)
        result.evidence["fsck"] = {{"command", report.damage->command}, {"output", report.damage->output}};
    result.verdict = Verdict::crash;
    return true;
}

bool take_early_end(CaseResult& result, const CaseReport& report, const Ended& ended) {
    if (ended.stacks) {
        result.verdict = Verdict::hang;
        result.reason = fmt::format("not done after {} s, while {}", ended.time_bound.count(), report.phase);
        result.evidence["stacks"] = *ended.stacks;
    } else if (ended.ending && ended.ending->signal) {
        // Before its filesystem is there, a process dies of its surroundings.
        const bool began = report.phase == phase_case || report.phase == phase_unmount || report.phase == phase_fsck;
        result.verdict = began ? Verdict::fail : Verdict::broken;
        result.reason = fmt::format("the case process died of {} while {}", ended.ending->describe(), report.phase);
    } else if (report.broken) {
        result.verdict = Verdict::broken;
        result.reason = fmt::format("{}, while {}", *report.broken, report.phase);
    } else if (!report.done) {
        result.verdict = Verdict::broken;
        result.reason = fmt::format("the case process ended early ({}) while {}",
                                    ended.ending ? ended.ending->describe() : "no reason known", report.phase);
    } else {
        return false;
    }
    return true;
}

}  // namespace

CaseResult conclude(const Question& question, const CaseReport& report, const Ended& ended) {
    CaseResult result{.name = std::string{question.name},
                      .filesystem = std::string{question.filesystem},
                      .disk = "file",
                      .kernel_log = ended.kernel_log};
    auto judgement = judge({question.name, question.filesystem, KernelVersion::running()}, question.expectations,
                           question.profile, report.observations);
    result.observations = std::move(judgement.observations);
    if (take_crash(result, report, ended) || take_early_end(result, report, ended)) return result;
    if (report.skipped) {
        result.verdict = Verdict::skip;
        result.reason = *report.skipped;
        return result;
    }
    result.verdict = judgement.verdict;
    result.reason = std::move(judgement.reason);
    return result;
}

std::string missing_for(const Case& one, const Recipe& recipe) {
    auto needs = recipe.needs;
    needs.insert(needs.end(), one.needs.begin(), one.needs.end());
    std::vector<std::string> texts;
    for (const auto& missing : find_missing(needs))
        texts.push_back(missing.remedy.empty() ? missing.what : fmt::format("{} ({})", missing.what, missing.remedy));
    return fmt::format("{}", fmt::join(texts, "; "));
}

}  // namespace holdfast
