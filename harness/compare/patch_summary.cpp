#include "harness/compare/patch_summary.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/results/wrap.h"

namespace holdfast {
namespace {

using Key = std::pair<std::string, std::string>;

struct Submission {
    bool blocks;
    std::string where;
};

const Observation* find_observation(const CaseResult& result, std::string_view name) {
    const auto found = std::ranges::find_if(
        result.observations, [&](const JudgedObservation& judged) { return judged.observation.name == name; });
    return found == result.observations.end() || !found->observation.value.is_string() ? nullptr : &found->observation;
}

// By case without its family and filesystem. One repetition that blocked makes it blocking.
std::map<Key, Submission> submissions_of(const Results& results) {
    std::map<Key, Submission> submissions;
    for (const auto& result : results.cases) {
        if (result.family() != "aio_append") continue;
        const auto* const submission = find_observation(result, "submission");
        if (submission == nullptr) continue;
        const auto* const where = find_observation(result, "where");
        const bool blocks = submission->value == "blocks";
        const Key key{result.name.substr(result.name.find('.') + 1), result.filesystem};
        auto& one = submissions.try_emplace(key, Submission{false, {}}).first->second;
        if (blocks) one = {true, where == nullptr ? std::string{} : where->value.get<std::string>()};
    }
    return submissions;
}

// "at_eof, gap on ext3-barrier, ext4; second_append on xfs": filesystems with the same cases together.
std::string group(const std::vector<Key>& keys) {
    std::map<std::string, std::vector<std::string>> cases_by_filesystem;
    for (const auto& [name, filesystem] : keys) cases_by_filesystem[filesystem].push_back(name);
    std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> groups;
    for (const auto& [filesystem, names] : cases_by_filesystem) {
        const auto alike = std::ranges::find(groups, names, &decltype(groups)::value_type::first);
        if (alike != groups.end())
            alike->second.push_back(filesystem);
        else
            groups.push_back({names, {filesystem}});
    }
    std::vector<std::string> texts;
    for (const auto& [names, filesystems] : groups)
        texts.push_back(fmt::format("{} on {}", fmt::join(names, ", "), fmt::join(filesystems, ", ")));
    return fmt::format("{}", fmt::join(texts, "; "));
}

std::vector<std::string> describe_submissions(const Results& before, const Results& after) {
    const auto was = submissions_of(before);
    std::vector<Key> became_asynchronous;
    std::vector<Key> became_blocking;
    std::map<std::string, std::vector<Key>> stayed;
    for (const auto& [key, now] : submissions_of(after)) {
        const auto found = was.find(key);
        if (found == was.end()) continue;
        if (found->second.blocks && !now.blocks) became_asynchronous.push_back(key);
        if (!found->second.blocks && now.blocks) became_blocking.push_back(key);
        if (found->second.blocks && now.blocks) stayed[now.where].push_back(key);
    }
    std::vector<std::string> sentences;
    sentences.push_back(became_asynchronous.empty() ? "No submission got asynchronous."
                                                    : fmt::format("Got asynchronous: {}.", group(became_asynchronous)));
    if (!became_blocking.empty()) sentences.push_back(fmt::format("Blocks now: {}.", group(became_blocking)));
    for (const auto& [where, keys] : stayed)
        sentences.push_back(fmt::format("Stayed blocking{}: {}.", where.empty() ? "" : " in " + where, group(keys)));
    return sentences;
}

// What a case is a witness of.
enum class Subject { reader, crash_state, count, fallocate_rule, append };
constexpr std::array subjects{std::pair{Subject::reader, "reader"}, std::pair{Subject::crash_state, "crash state"},
                              std::pair{Subject::count, "count"}, std::pair{Subject::fallocate_rule, "fallocate rule"},
                              std::pair{Subject::append, "append"}};

Subject subject_of(std::string_view name) {
    if (name.starts_with("stale_data.crash_")) return Subject::crash_state;
    if (name.starts_with("stale_data.")) return Subject::reader;
    if (name.starts_with("unwritten.")) return Subject::count;
    return name.starts_with("fallocate.") ? Subject::fallocate_rule : Subject::append;
}

std::vector<std::string> describe_what_is_worse(const Comparison& comparison) {
    std::vector<std::string> sentences;
    std::vector<std::string> unharmed;
    for (const auto& [subject, name] : subjects) {
        std::vector<Key> worse;
        for (const auto& one : comparison.cases)
            if (one.change <= Change::lost && subject_of(one.name) == subject)
                worse.emplace_back(one.name, one.filesystem);
        if (worse.empty())
            unharmed.push_back(fmt::format("no {}", name));
        else
            sentences.push_back(fmt::format("Worse or lost, of what a {} shows: {}.", name, group(worse)));
    }
    if (!unharmed.empty()) {
        auto text = fmt::format("{} got worse.", fmt::join(unharmed, ", "));
        text.front() = 'N';
        sentences.push_back(std::move(text));
    }
    return sentences;
}

}  // namespace

std::string summarize_patch(const Comparison& comparison, const Results& before, const Results& after,
                            unsigned columns) {
    auto sentences = describe_submissions(before, after);
    for (auto& sentence : describe_what_is_worse(comparison)) sentences.push_back(std::move(sentence));
    std::string text = "\nWhat the patch changed\n";
    for (const auto& sentence : sentences) {
        const char* indent = "  ";
        for (const auto& line : wrap(sentence, columns - 4)) {
            text += fmt::format("{}{}\n", indent, line);
            indent = "    ";
        }
    }
    return text;
}

}  // namespace holdfast
