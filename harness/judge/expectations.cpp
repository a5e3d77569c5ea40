#include "harness/judge/expectations.h"

#include <algorithm>

#include <fmt/format.h>
#include <fnmatch.h>

namespace holdfast {
namespace {

std::string parse_sentence(const Value& value) {
    auto text = value.text();
    if (text.find_first_not_of(" \t\n") == std::string::npos) value.refuse("a text that is not empty");
    return text;
}

KernelRange parse_kernel(const std::optional<Value>& value) {
    if (!value) return {};
    auto range = KernelRange::parse(parse_sentence(*value));
    if (!range) value->refuse("a range of kernels such as \">=5.5 <6.3\"");
    return *std::move(range);
}

Scope parse_scope(const Value& value) {
    return {parse_patterns(value.required("filesystems")), parse_kernel(value.optional("kernel"))};
}

Override parse_override(const Value& value) {
    value.only({"filesystems", "kernel", "expect", "why", "source"});
    return {parse_scope(value), parse_expected_values(value.required("expect")), parse_sentence(value.required("why")),
            parse_sentence(value.required("source"))};
}

Limitation parse_limitation(const Value& value) {
    value.only({"filesystems", "kernel", "observe", "why", "source"});
    return {parse_scope(value), parse_expected_values(value.required("observe")), parse_sentence(value.required("why")),
            parse_sentence(value.required("source"))};
}

template <typename T>
std::vector<T> parse_list(const std::optional<Value>& list, T (*parse)(const Value&)) {
    std::vector<T> parsed;
    if (!list) return parsed;
    for (const auto& item : list->items()) parsed.push_back(parse(item));
    return parsed;
}

// An entry of a document, and the cases that it speaks of.
struct Entry {
    std::vector<std::string> cases;
    /// The entry is that one case's own.
    bool own = false;
    Expectation content;
    std::string place;
};

std::vector<std::string> parse_case_names(const Value& value, const CaseNames& known) {
    const auto patterns = value.optional("cases");
    if (!patterns) {
        const auto name = value.required("case");
        if (!known.contains(name.text())) name.refuse("the name of a case (holdfast list shows them)");
        return {name.text()};
    }
    std::vector<std::string> names;
    for (const auto& item : patterns->items()) {
        const auto before = names.size();
        for (const auto& name : known)
            if (matches_any({parse_sentence(item)}, name)) names.push_back(name);
        if (names.size() == before) item.refuse("a pattern that some case matches (holdfast list shows them)");
    }
    return names;
}

Entry parse_entry(const Value& value, const CaseNames& known) {
    const bool own = !value.optional("cases").has_value();
    value.only({own ? "case" : "cases", "contract", "per_filesystem", "limitations"});
    Entry entry{.cases = parse_case_names(value, known), .own = own, .content = {}, .place = value.place()};
    const auto contract = own ? value.required("contract") : value.optional("contract");
    if (contract) entry.content.contract = parse_expected_values(*contract);
    entry.content.overrides = parse_list(value.optional("per_filesystem"), parse_override);
    entry.content.limitations = parse_list(value.optional("limitations"), parse_limitation);
    return entry;
}

// What the case's own entry says of an observation stands.
void add_to(Expectation& expectation, const Expectation& more) {
    expectation.contract.insert(more.contract.begin(), more.contract.end());
    expectation.overrides.insert(expectation.overrides.begin(), more.overrides.begin(), more.overrides.end());
    expectation.limitations.insert(expectation.limitations.end(), more.limitations.begin(), more.limitations.end());
}

// Where each case's own entry stands, to name both when there are two.
using Places = std::map<std::string, std::string, std::less<>>;

void parse_document(const Value& document, const CaseNames& known, std::vector<Entry>& entries, Places& places) {
    for (const auto& item : document.items()) {
        entries.push_back(parse_entry(item, known));
        const auto& entry = entries.back();
        if (!entry.own) continue;
        const auto [earlier, is_new] = places.emplace(entry.cases.front(), entry.place);
        if (!is_new)
            item.required("case").refuse(
                fmt::format("one entry for each case, and {} has one for this", earlier->second));
    }
}

using Merged = std::map<std::string, Expectation, std::less<>>;

Merged merge(const std::vector<Entry>& entries) {
    Merged merged;
    for (const bool own : {true, false})
        for (const auto& entry : entries) {
            if (entry.own != own) continue;
            for (const auto& name : entry.cases) {
                auto& expectation = merged[name];
                expectation.case_name = name;
                add_to(expectation, entry.content);
            }
        }
    return merged;
}

}  // namespace

std::vector<std::string> parse_patterns(const Value& value) {
    std::vector<std::string> patterns;
    for (const auto& item : value.items()) patterns.push_back(parse_sentence(item));
    if (patterns.empty()) value.refuse("one pattern or more");
    return patterns;
}

bool matches_any(const std::vector<std::string>& patterns, std::string_view name) {
    const std::string terminated{name};
    return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
        return ::fnmatch(pattern.c_str(), terminated.c_str(), 0) == 0;
    });
}

bool Scope::covers(std::string_view filesystem, KernelVersion version) const {
    return matches_any(filesystems, filesystem) && kernel.contains(version);
}

Expectations Expectations::parse(std::span<const Value> documents, const CaseNames& known) {
    std::vector<Entry> entries;
    Places places;
    for (const auto& document : documents) parse_document(document, known, entries, places);
    Expectations expectations;
    expectations.entries_ = merge(entries);
    return expectations;
}

void Expectations::replace(const Value& document, const CaseNames& known) {
    std::vector<Entry> entries;
    Places places;
    parse_document(document, known, entries, places);
    for (auto& [name, expectation] : merge(entries)) entries_.insert_or_assign(name, std::move(expectation));
}

const Expectation* Expectations::find(std::string_view case_name) const {
    const auto found = entries_.find(case_name);
    return found == entries_.end() ? nullptr : &found->second;
}

}  // namespace holdfast
