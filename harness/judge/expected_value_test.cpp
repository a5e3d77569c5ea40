#include "harness/judge/expected_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/base/failure.h"

namespace holdfast {
namespace {

using nlohmann::json;

ExpectedValue expected(const char* text) { return ExpectedValue::parse(Document::parse(text, "e.json")); }

TEST(ExpectedValue, IsMatchedExactly) {
    EXPECT_TRUE(expected("\"async\"").matches("async"));
    EXPECT_FALSE(expected("\"async\"").matches("Async"));
    EXPECT_TRUE(expected("4").matches(4));
    EXPECT_TRUE(expected("4").matches(4.0));
    EXPECT_FALSE(expected("4").matches("4"));
    EXPECT_FALSE(expected("1").matches(true));
    EXPECT_TRUE(expected("true").matches(true));
}

TEST(ExpectedValue, ARangeIncludesItsEnds) {
    const auto range = expected(R"({"from": -1, "to": 3})");
    for (const json& inside : {json(-1), json(0), json(3U), json(2.5)}) EXPECT_TRUE(range.matches(inside)) << inside;
    for (const json& outside : {json(-2), json(4U), json(3.1), json("0"), json(false)})
        EXPECT_FALSE(range.matches(outside)) << outside;
}

TEST(ExpectedValue, OneOfSeveral) {
    const auto either = expected(R"({"any_of": ["zeros", {"from": 0, "to": 1}]})");
    EXPECT_TRUE(either.matches("zeros"));
    EXPECT_TRUE(either.matches(1));
    EXPECT_FALSE(either.matches("stale"));
    EXPECT_EQ(either.describe(), "zeros or 0 to 1");
}

TEST(ExpectedValue, AnythingIsNotJudged) {
    const auto anything = expected(R"({"any": true})");
    EXPECT_TRUE(anything.matches("x"));
    EXPECT_FALSE(anything.judged());
    EXPECT_TRUE(expected("1").judged());
    EXPECT_EQ(anything.describe(), "anything");
}

TEST(ExpectedValue, RefusesOtherForms) {
    for (const auto* text :
         {"null", "[]", "{}", R"({"from": 1})", R"({"from": 2, "to": 1})", R"({"from": 1, "to": 2, "x": 3})",
          R"({"from": "a", "to": "b"})", R"({"any": false})", R"({"any": true, "to": 1})", R"({"any_of": []})",
          R"({"any_of": [1]})", R"({"any_of": [1, {"any": true}]})", R"({"any_of": [1, null]})", R"({"not": 1})"})
        EXPECT_THROW((void)expected(text), BadInput) << text;
}

TEST(ExpectedValue, DescribesItselfForPeople) {
    EXPECT_EQ(expected("\"async\"").describe(), "async");
    EXPECT_EQ(expected(R"({"from": 0, "to": 3})").describe(), "0 to 3");
    EXPECT_EQ(describe_value(json(true)), "true");
    EXPECT_EQ(describe_value(json("blocks")), "blocks");
    EXPECT_EQ(describe_expected(json{}), "nothing");
}

TEST(ExpectedValues, NeedANameEach) {
    EXPECT_EQ(parse_expected_values(Document::parse(R"({"a": 1, "b": "x"})", "e")).size(), 2U);
    EXPECT_THROW((void)parse_expected_values(Document::parse("{}", "e")), BadInput);
    EXPECT_THROW((void)parse_expected_values(Document::parse(R"({"": 1})", "e")), BadInput);
}

}  // namespace
}  // namespace holdfast
