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

Expectation parse_expectation(const Value& value, const CaseNames& known) {
    value.only({"case", "contract", "per_filesystem", "limitations"});
    const auto case_name = value.required("case");
    if (!known.contains(case_name.text())) case_name.refuse("the name of a case (holdfast list shows them)");
    return {case_name.text(), parse_expected_values(value.required("contract")),
            parse_list(value.optional("per_filesystem"), parse_override),
            parse_list(value.optional("limitations"), parse_limitation)};
}

using Entries = std::map<std::string, Expectation, std::less<>>;

// Where each case's entry stands, to name both when there are two.
using Places = std::map<std::string, std::string, std::less<>>;

void parse_document(const Value& document, const CaseNames& known, Entries& entries, Places& places) {
    for (const auto& item : document.items()) {
        auto expectation = parse_expectation(item, known);
        const auto [earlier, is_new] = places.emplace(expectation.case_name, item.place());
        if (!is_new)
            item.required("case").refuse(
                fmt::format("one entry for each case, and {} has one for this", earlier->second));
        auto name = expectation.case_name;
        entries.insert_or_assign(std::move(name), std::move(expectation));
    }
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
    Expectations expectations;
    Places places;
    for (const auto& document : documents) parse_document(document, known, expectations.entries_, places);
    return expectations;
}

void Expectations::replace(const Value& document, const CaseNames& known) {
    Places places;
    parse_document(document, known, entries_, places);
}

const Expectation* Expectations::find(std::string_view case_name) const {
    const auto found = entries_.find(case_name);
    return found == entries_.end() ? nullptr : &found->second;
}

}  // namespace holdfast
