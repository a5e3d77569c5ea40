#include "harness/results/ktap.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "harness/results/details.h"

namespace holdfast {
namespace {

constexpr std::string_view indent = "  ";

// In a test line a '#' begins the directive.
std::string without_hash(std::string_view text) {
    auto plain = printable(text);
    std::replace(plain.begin(), plain.end(), '#', ' ');
    return plain;
}

std::string_view directive_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::xfail:
            return "XFAIL";
        case Verdict::skip:
            return "SKIP";
        case Verdict::hang:
            return "TIMEOUT";
        case Verdict::broken:
            return "ERROR";
        case Verdict::pass:
        case Verdict::xpass:
        case Verdict::fail:
        case Verdict::crash:
            return "";
    }
    return "";
}

bool is_ok(Verdict verdict) { return !blames_kernel(verdict) && verdict != Verdict::broken; }

std::string format_line(Verdict verdict, std::size_t number, std::string_view name, std::string_view reason) {
    auto line = fmt::format("{} {} {}", is_ok(verdict) ? "ok" : "not ok", number, without_hash(name));
    if (const auto directive = directive_of(verdict); !directive.empty())
        line += fmt::format(" # {}{}{}", directive, reason.empty() ? "" : " ", without_hash(reason));
    return line + "\n";
}

std::string format_diagnostics(const CaseResult& result) {
    if (result.verdict == Verdict::pass || result.verdict == Verdict::skip || result.verdict == Verdict::xfail)
        return {};
    auto text = fmt::format("{}# {} on {}: {} {}\n", indent, result.name, describe_filesystem(result),
                            verdict_text(result.verdict), printable(result.reason));
    if (is_ok(result.verdict)) return text;
    for (const auto& line : describe_details(result)) text += fmt::format("{}#   {}\n", indent, line);
    return text;
}

using Group = std::vector<const CaseResult*>;

// By case, in the order in which cases first appear.
std::vector<Group> group_by_case(const std::vector<CaseResult>& results) {
    std::vector<Group> groups;
    std::map<std::string_view, std::size_t> index;
    for (const auto& result : results) {
        const auto [at, is_new] = index.emplace(result.name, groups.size());
        if (is_new) groups.emplace_back();
        groups[at->second].push_back(&result);
    }
    return groups;
}

// A case on all its filesystems is skipped only where all are.
Verdict verdict_of(const Group& group) {
    auto verdict = Verdict::pass;
    bool all_skipped = true;
    for (const auto* result : group) {
        if (result->verdict == Verdict::skip) continue;
        all_skipped = false;
        verdict = worse(verdict, result->verdict);
    }
    if (all_skipped) return Verdict::skip;
    return is_ok(verdict) ? Verdict::pass : Verdict::fail;
}

std::string format_group(const Group& group, std::size_t number) {
    const auto& name = group.front()->name;
    auto text = fmt::format("{0}KTAP version 1\n{0}# Subtest: {1}\n{0}1..{2}\n", indent, name, group.size());
    for (std::size_t i = 0; i < group.size(); ++i) {
        const auto& result = *group[i];
        text += format_diagnostics(result);
        text += std::string{indent} + format_line(result.verdict, i + 1, describe_filesystem(result), result.reason);
    }
    return text + format_line(verdict_of(group), number, name, "");
}

}  // namespace

std::string format_ktap(const Results& results) {
    const auto planned = results.planned();
    const auto groups = group_by_case(planned);
    auto text = fmt::format("KTAP version 1\n1..{}\n", groups.size());
    for (std::size_t i = 0; i < groups.size(); ++i) text += format_group(groups[i], i + 1);
    return text;
}

}  // namespace holdfast
