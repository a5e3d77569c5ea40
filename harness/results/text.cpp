#include "harness/results/text.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/color.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/results/append_advice.h"
#include "harness/results/details.h"
#include "harness/results/wrap.h"

namespace holdfast {
namespace {

constexpr std::size_t verdict_width = 8;
constexpr std::size_t narrowest_text = 20;

fmt::text_style colour_of(Verdict verdict) {
    using fmt::terminal_color;
    switch (verdict) {
        case Verdict::pass:
            return fg(terminal_color::green);
        case Verdict::xfail:
            return fg(terminal_color::yellow);
        case Verdict::xpass:
            return fg(terminal_color::cyan);
        case Verdict::skip:
            return fg(terminal_color::blue);
        case Verdict::broken:
            return fg(terminal_color::magenta);
        case Verdict::fail:
        case Verdict::hang:
        case Verdict::crash:
            return fg(terminal_color::red) | fmt::emphasis::bold;
    }
    return {};
}

std::string heading(std::string_view text, TextStyle style) {
    return style.colours ? fmt::format(fmt::emphasis::bold, "{}", text) : std::string{text};
}

std::string_view short_name(const CaseResult& result) {
    const std::string_view name = result.name;
    return name.substr(std::min(result.family().size() + 1, name.size()));
}

// The results of one case that have the same verdict for the same reason.
struct Row {
    Verdict verdict;
    std::string reason;
    std::vector<const CaseResult*> results;
};

struct CaseRows {
    const CaseResult* first;
    std::vector<Row> rows;
};

void add_result(std::vector<Row>& rows, const CaseResult& result) {
    auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& one) {
        return one.verdict == result.verdict && one.reason == result.reason;
    });
    if (row == rows.end()) row = rows.insert(rows.end(), Row{result.verdict, result.reason, {}});
    row->results.push_back(&result);
}

// Cases by family, in the order in which they first appear.
std::vector<CaseRows> group(const std::vector<CaseResult>& results) {
    std::vector<CaseRows> cases;
    std::map<std::string_view, std::size_t> index;
    std::map<std::string_view, std::size_t> families;
    for (const auto& result : results) {
        families.emplace(result.family(), families.size());
        const auto [at, is_new] = index.emplace(result.name, cases.size());
        if (is_new) cases.push_back({&result, {}});
        add_result(cases[at->second].rows, result);
    }
    std::stable_sort(cases.begin(), cases.end(), [&](const CaseRows& one, const CaseRows& other) {
        return families[one.first->family()] < families[other.first->family()];
    });
    for (auto& one : cases)
        std::stable_sort(one.rows.begin(), one.rows.end(),
                         [](const Row& a, const Row& b) { return a.verdict < b.verdict; });
    return cases;
}

std::string describe_filesystems(const Row& row) {
    std::vector<std::string> parts;
    for (const auto* result : row.results)
        // Narrow no-break spaces would be right here and are not on every terminal: wrap() keeps '\1' together.
        parts.push_back(row.verdict == Verdict::skip
                            ? describe_filesystem(*result)
                            : fmt::format("{}\1{:.2f}\1s", describe_filesystem(*result), result->seconds));
    return fmt::format("{}", fmt::join(parts, ", "));
}

class Table {
 public:
    Table(const std::vector<CaseRows>& cases, TextStyle style) : cases_(cases), style_(style) {
        for (const auto& one : cases) name_width_ = std::max(name_width_, short_name(*one.first).size() + 2);
    }

    [[nodiscard]] std::string format() const {
        std::string text;
        std::string_view family;
        Said said;
        for (const auto& one : cases_) {
            if (one.first->family() != family) text += fmt::format("\n{}\n", heading(one.first->family(), style_));
            family = one.first->family();
            const auto name = short_name(*one.first);
            for (const auto& row : one.rows)
                text += format_row(&row == &one.rows.front() ? name : "", row, say(said, name, row.reason));
        }
        return text;
    }

 private:
    // By reason: the case that has said it in full.
    using Said = std::map<std::string, std::string_view, std::less<>>;

    // Many cases can end for one reason; those after the first one refer to it.
    static std::string say(Said& said, std::string_view name, const std::string& reason) {
        if (reason.empty()) return {};
        const auto [earlier, is_new] = said.emplace(reason, name);
        return is_new || earlier->second == name ? reason : fmt::format("as {}", earlier->second);
    }

    [[nodiscard]] std::string format_row(std::string_view name, const Row& row, const std::string& reason) const {
        const auto margin = 2 + name_width_ + verdict_width;
        const auto width = std::max<std::size_t>(style_.columns, margin + narrowest_text) - margin;
        const auto pad = verdict_width - verdict_text(row.verdict).size();
        auto text = fmt::format("  {:<{}}{}{:{}}", name, name_width_, format_verdict(row.verdict, style_), "", pad);
        auto lines = wrap(describe_filesystems(row), width);
        if (!reason.empty())
            for (auto& line : wrap(printable(reason), width)) lines.push_back(std::move(line));
        return text + fmt::format("{}\n", fmt::join(lines, "\n" + std::string(margin, ' ')));
    }

    const std::vector<CaseRows>& cases_;
    TextStyle style_;
    std::size_t name_width_ = 0;
};

std::string format_advice(const std::vector<CaseResult>& cases, TextStyle style) {
    const auto advices = advise_on_appends(cases);
    if (advices.empty()) return {};
    auto text = fmt::format("\n{}\n", heading("Appends through io_submit (direct I/O, at end of file)", style));
    for (const auto& [filesystems, advice] : advices) {
        const auto lines = wrap(fmt::format("{}: {}", fmt::join(filesystems, ", "), advice), style.columns - 4);
        text += fmt::format("  {}\n", fmt::join(lines, "\n    "));
    }
    return text;
}

std::string format_details(const CaseResult& result, TextStyle style) {
    auto text = fmt::format("\n{} {} on {}\n", format_verdict(result.verdict, style), heading(result.name, style),
                            describe_filesystem(result));
    const auto details = describe_details(result);
    // With one deviation alone, the observation says the same.
    if (std::find(details.begin(), details.end(), result.reason) == details.end())
        for (const auto& line : wrap(printable(result.reason), style.columns - 2)) text += fmt::format("  {}\n", line);
    for (const auto& line : details) text += fmt::format("  {}\n", line);
    return text;
}

// What an observation says besides its verdict: how much a stress did, a figure beside a published one. Empty for most.
std::string words_of(const Observation& observation) {
    const auto& evidence = observation.evidence;
    if (const auto words = evidence.find("in_words"); words != evidence.end() && words->is_string())
        return words->get<std::string>();
    const auto published = evidence.find("published");
    if (published == evidence.end()) return {};
    return fmt::format("{} is {}, published {}", observation.name, describe_value(observation.value),
                       describe_value(*published));
}

std::string format_words(const std::vector<CaseResult>& cases, TextStyle style) {
    std::string text;
    for (const auto& result : cases)
        for (const auto& judged : result.observations) {
            const auto words = words_of(judged.observation);
            if (words.empty()) continue;
            const auto said = printable(fmt::format("{} on {}: {}", result.name, result.filesystem, words));
            text += fmt::format("  {}\n", fmt::join(wrap(said, style.columns - 4), "\n    "));
        }
    return text.empty() ? text : fmt::format("\n{}\n{}", heading("Figures", style), text);
}

}  // namespace

std::string format_verdict(Verdict verdict, TextStyle style) {
    return style.colours ? fmt::format(colour_of(verdict), "{}", verdict_text(verdict))
                         : std::string{verdict_text(verdict)};
}

std::string format_summary(const VerdictCounts& counts, double seconds) {
    std::vector<std::string> parts;
    for (const auto verdict : all_verdicts)
        if (counts.of(verdict) > 0) parts.push_back(fmt::format("{} {}", counts.of(verdict), verdict_text(verdict)));
    return fmt::format("{} {} in {:.1f} s{}{}", counts.total(), counts.total() == 1 ? "case" : "cases", seconds,
                       parts.empty() ? "" : ": ", fmt::join(parts, ", "));
}

std::string format_text(const Results& results, TextStyle style) {
    style.columns = std::max(style.columns, 40U);
    const auto& run = results.run;
    auto text = fmt::format("run {} on kernel {}, {} CPUs; profile {}, seed {}\n", run.id,
                            results.machine.kernel_release, results.machine.cpus, run.profile, run.seed);
    const auto cases = group(results.cases);
    text += Table{cases, style}.format();
    for (const auto& result : results.cases)
        if (blames_kernel(result.verdict) || result.verdict == Verdict::broken) text += format_details(result, style);
    text += format_words(results.cases, style);
    text += format_advice(results.cases, style);
    text += "\n" + format_summary(results.summary(), run.seconds);
    if (!results.not_run.empty()) text += fmt::format("; {} more did not run", results.not_run.size());
    return text + "\n";
}

}  // namespace holdfast
