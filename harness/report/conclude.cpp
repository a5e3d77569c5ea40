#include "harness/report/conclude.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fixtures/probe/kernel_version.h"

namespace holdfast {
namespace {

// Before its filesystem is there, a case process dies of its surroundings, and waits for them.
bool case_began(const CaseReport& report) {
    return report.phase == phase_case || report.phase == phase_unmount || report.phase == phase_fsck;
}

// The image has found no space, or no memory: then the filesystem on it complains of its disk.
bool disk_failed(const Ended& ended) {
    return std::ranges::any_of(ended.kernel_log, [](const std::string& line) {
        return line.find("I/O error, dev loop") != std::string::npos ||
               line.find("loop: Write error") != std::string::npos;
    });
}

// What ended a case before it could say all it had to say, worst first; nothing where it came to its end.
bool take_crash(CaseResult& result, const CaseReport& report, const Ended& ended) {
    if (!case_began(report) && disk_failed(ended)) return false;
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
    if (ended.stacks) result.evidence["stacks"] = *ended.stacks;
    result.verdict = Verdict::crash;
    return true;
}

// The first lines of what failed, as one: mkfs answers an option that it does not know with pages. The whole is
// evidence.
std::string first_words(const std::string& what, CaseResult& result) {
    constexpr std::size_t most_lines = 2;
    std::vector<std::string> lines;
    std::istringstream text{what};
    for (std::string line; lines.size() < most_lines && std::getline(text, line);) {
        if (line.starts_with("Usage") || line.starts_with("usage")) break;
        if (!line.empty()) lines.push_back(line);
    }
    auto words = fmt::format("{}", fmt::join(lines, "; "));
    if (words.size() + 1 < what.size()) result.evidence["message"] = what;
    return words;
}

bool take_early_end(CaseResult& result, const CaseReport& report, const Ended& ended) {
    const bool began = case_began(report);
    if (ended.stacks) {
        result.verdict = began ? Verdict::hang : Verdict::broken;
        result.reason = fmt::format("not done after {} s, while {}", ended.time_bound.count(), report.phase);
        result.evidence["stacks"] = *ended.stacks;
    } else if (ended.ending && ended.ending->signal) {
        result.verdict = began ? Verdict::fail : Verdict::broken;
        result.reason = fmt::format("the case process died of {} while {}", ended.ending->describe(), report.phase);
    } else if (report.broken) {
        result.verdict = Verdict::broken;
        result.reason = fmt::format("{}, while {}", first_words(*report.broken, result), report.phase);
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
                      .disk = report.disk,
                      .kernel_log = ended.kernel_log};
    auto judgement = judge({question.name, question.filesystem, KernelVersion::running()}, question.expectations,
                           question.profile, report.observations);
    result.observations = std::move(judgement.observations);
    if (take_crash(result, report, ended) || take_early_end(result, report, ended)) return result;
    if (report.skipped) {
        // What it then did not come to report is not missing; but what it did report may be wrong.
        auto& seen = result.observations;
        seen.resize(report.observations.size());
        if (std::ranges::find(seen, Verdict::fail, &JudgedObservation::verdict) == seen.end()) {
            result.verdict = Verdict::skip;
            result.reason = *report.skipped;
            return result;
        }
    }
    result.verdict = judgement.verdict;
    result.reason = std::move(judgement.reason);
    return result;
}

std::string missing_for(const Case& one, const Recipe& recipe) {
    auto needs = recipe.needs;
    needs.insert(needs.end(), one.needs.begin(), one.needs.end());
    if (one.disk == DiskNeed::held) needs.push_back({"feature", "fuse"});
    if (one.disk == DiskNeed::held_if_possible) needs.push_back({"feature", "hold"});
    return describe(find_missing(needs));
}

}  // namespace holdfast
