#include "harness/judge/expected_value.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace holdfast {
namespace {

using nlohmann::json;

constexpr auto* forms =
    R"(a string, a number, true or false, {"from": a, "to": b}, {"any_of": [...]} or {"any": true})";

bool is_plain(const json& json) { return json.is_string() || json.is_number() || json.is_boolean(); }

void check_range(const Value& value) {
    value.only({"from", "to"});
    const auto from = value.required("from");
    const auto to = value.required("to");
    (void)from.number();
    (void)to.number();
    if (to.json() < from.json()) to.refuse(fmt::format("a number from {} on", from.json().dump()));
}

void check_alternatives(const Value& value) {
    value.only({"any_of"});
    const auto alternatives = value.required("any_of").items();
    if (alternatives.size() < 2) value.required("any_of").refuse("two alternatives or more");
    for (const auto& alternative : alternatives) {
        if (is_plain(alternative.json())) continue;
        if (!alternative.json().is_object())
            alternative.refuse(R"(a string, a number, true, false or {"from": a, "to": b})");
        check_range(alternative);
    }
}

void check(const Value& value) {
    const auto& json = value.json();
    if (is_plain(json)) return;
    if (json.contains("any_of")) return check_alternatives(value);
    if (json.contains("any")) {
        value.only({"any"});
        if (!value.required("any").boolean()) value.required("any").refuse("true");
        return;
    }
    if (!json.is_object() || (!json.contains("from") && !json.contains("to"))) value.refuse(forms);
    check_range(value);
}

bool matches_one(const json& expected, const json& observed) {
    if (!expected.is_object()) return observed == expected;
    return observed.is_number() && observed >= expected.at("from") && observed <= expected.at("to");
}

std::string describe_one(const json& expected) {
    if (!expected.is_object()) return describe_value(expected);
    return fmt::format("{} to {}", expected.at("from").dump(), expected.at("to").dump());
}

}  // namespace

ExpectedValue ExpectedValue::parse(const Value& value) {
    check(value);
    return ExpectedValue{value.json()};
}

bool ExpectedValue::judged() const { return !written_.is_object() || !written_.contains("any"); }

bool ExpectedValue::matches(const nlohmann::json& observed) const {
    if (!judged()) return true;
    if (!written_.is_object() || !written_.contains("any_of")) return matches_one(written_, observed);
    const auto& alternatives = written_.at("any_of");
    return std::any_of(alternatives.begin(), alternatives.end(),
                       [&](const auto& alternative) { return matches_one(alternative, observed); });
}

std::string ExpectedValue::describe() const { return describe_expected(written_); }

std::string describe_value(const json& value) {
    if (value.is_string()) return value.get<std::string>();
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string describe_expected(const json& written) {
    if (written.is_null()) return "nothing";
    if (!written.is_object()) return describe_one(written);
    if (written.contains("any")) return "anything";
    if (written.contains("from") && written.contains("to")) return describe_one(written);
    if (!written.contains("any_of") || !written.at("any_of").is_array()) return describe_value(written);
    std::vector<std::string> alternatives;
    for (const auto& alternative : written.at("any_of")) alternatives.push_back(describe_one(alternative));
    return fmt::format("{}", fmt::join(alternatives, " or "));
}

ExpectedValues parse_expected_values(const Value& value) {
    ExpectedValues values;
    for (const auto& [name, member] : value.members()) values.emplace(name, ExpectedValue::parse(member));
    if (values.empty() || values.contains("")) value.refuse("an object with the names of observations for keys");
    return values;
}

}  // namespace holdfast
