#include "harness/results/details.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/judge/reason.h"

namespace holdfast {
namespace {

using nlohmann::json;

constexpr std::size_t most_log_lines = 60;
constexpr std::size_t most_output_lines = 30;
// For programs: the words are beside it.
constexpr std::string_view evidence_for_replay = "replay";

std::vector<std::string_view> split_lines(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        lines.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

// Collects lines, each at its level.
class Block {
 public:
    void add(std::size_t level, std::string_view text) {
        lines_.push_back(std::string(2 * level, ' ') + printable(text));
    }

    template <typename Lines>
    void add_last(std::size_t level, const Lines& lines, std::size_t most) {
        const auto left_out = lines.size() - std::min(lines.size(), most);
        if (left_out > 0) add(level, fmt::format("({} lines before these)", left_out));
        std::for_each(lines.begin() + static_cast<std::ptrdiff_t>(left_out), lines.end(),
                      [&](std::string_view line) { add(level, line); });
    }

    // A name and what is under it: on one line where it fits there, else each thing on its own.
    void add_named(std::size_t level, std::string_view name, const json& value) {
        const bool numbers = value.is_array() &&
                             std::all_of(value.begin(), value.end(), [](const json& one) { return one.is_number(); });
        const bool short_text = value.is_primitive() && describe_value(value).find('\n') == std::string::npos;
        if (numbers || short_text) return add(level, fmt::format("{}: {}", name, describe_value(value)));
        add(level, fmt::format("{}:", name));
        add_value(level + 1, value);
    }

    std::vector<std::string> take() { return std::move(lines_); }

 private:
    void add_value(std::size_t level, const json& value) {
        if (value.is_object()) {
            for (const auto& [name, member] : value.items()) add_named(level, name, member);
        } else if (value.is_array()) {
            for (const auto& item : value) add_value(level, item);
        } else {
            const auto text = describe_value(value);
            for (const auto line : split_lines(text)) add(level, line);
        }
    }

    std::vector<std::string> lines_;
};

std::string describe_observation(const JudgedObservation& judged) {
    const auto& seen = judged.observation;
    if (judged.verdict == Verdict::fail) return describe_deviation(judged);
    auto text =
        fmt::format("{} is {}{}{}", seen.name, describe_value(seen.value), seen.unit.empty() ? "" : " ", seen.unit);
    if (judged.verdict != Verdict::pass)
        text += fmt::format(": {}, {} ({})", verdict_text(judged.verdict), judged.limitation, judged.source);
    return text;
}

void add_observation(Block& block, const JudgedObservation& judged) {
    block.add(0, describe_observation(judged));
    if (judged.verdict == Verdict::pass) return;
    if (!judged.observation.samples.empty()) block.add_named(1, "samples", judged.observation.samples);
    for (const auto& [name, value] : judged.observation.evidence.items()) {
        if (name == evidence_for_replay)
            block.add(1, "to carry out these steps again: holdfast replay FILE (the result file)");
        else
            block.add_named(1, name, value);
    }
}

}  // namespace

std::string printable(std::string_view text) {
    // The JSON library knows UTF-8.
    auto valid = json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
    for (auto& character : valid) {
        const auto code = static_cast<unsigned char>(character);
        if (character == '\n' || character == '\t')
            character = ' ';
        else if (code < 0x20 || code == 0x7f)
            character = '?';
    }
    return valid;
}

std::string describe_filesystem(const CaseResult& result) {
    return result.repetition > 1 ? fmt::format("{} ({})", result.filesystem, result.repetition) : result.filesystem;
}

std::vector<std::string> describe_details(const CaseResult& result) {
    Block block;
    for (const auto& judged : result.observations) add_observation(block, judged);
    for (const auto& [name, value] : result.evidence.items()) block.add_named(0, name, value);
    if (!result.kernel_log.empty()) {
        block.add(0, "kernel log:");
        block.add_last(1, result.kernel_log, most_log_lines);
    }
    if (!result.output.empty()) {
        block.add(0, "end of output:");
        block.add_last(1, split_lines(result.output), most_output_lines);
    }
    if (!result.command.empty()) block.add(0, fmt::format("replay: {}", result.command));
    return block.take();
}

}  // namespace holdfast
