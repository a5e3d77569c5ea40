#include "harness/judge/expectations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/base/failure.h"

namespace holdfast {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

const CaseNames known{"aio_append.at_eof", "fallocate.modes"};

Expectations parse(const std::string& text) {
    const auto document = Document::parse(text, "e.json");
    return Expectations::parse({&document, 1}, known);
}

TEST(Expectations, ReadsAnEntry) {
    const auto expectations = parse(R"([{
        "case": "aio_append.at_eof",
        "contract": {"submission": "async", "count": {"from": 0, "to": 3}},
        "per_filesystem": [{"filesystems": ["xfs*"], "expect": {"count": 1}, "why": "w1", "source": "s1"}],
        "limitations": [{"filesystems": ["ext4*", "ext3-barrier"], "kernel": ">=5.5", "observe": {"submission": "blocks"},
                         "why": "w2", "source": "s2"}]}])");
    EXPECT_EQ(expectations.find("fallocate.modes"), nullptr);
    const auto* const entry = expectations.find("aio_append.at_eof");
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->contract.size(), 2U);
    ASSERT_EQ(entry->overrides.size(), 1U);
    EXPECT_EQ(entry->overrides[0].source, "s1");
    ASSERT_EQ(entry->limitations.size(), 1U);
    const auto& limitation = entry->limitations[0];
    EXPECT_EQ(limitation.why, "w2");
    EXPECT_TRUE(limitation.scope.covers("ext4-1k", {5, 5, 0}));
    EXPECT_TRUE(limitation.scope.covers("ext3-barrier", {6, 0, 0}));
    EXPECT_FALSE(limitation.scope.covers("ext3", {6, 0, 0}));
    EXPECT_FALSE(limitation.scope.covers("ext4", {5, 4, 9}));
}

struct Refusal {
    const char* text;
    const char* message;
};

class ExpectationsRefusal : public testing::TestWithParam<Refusal> {};

TEST_P(ExpectationsRefusal, NamesFileLineEntryAndField) {
    EXPECT_THAT([] { (void)parse(GetParam().text); }, ThrowsMessage<BadInput>(HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(
    Expectations, ExpectationsRefusal,
    testing::Values(Refusal{"{}", "e.json:1: expected an array"},
                    Refusal{"[\n{}]", "e.json:2: [0]: expected an object with the key \"case\""},
                    Refusal{"[{\"case\": \"aio.x\"}]", "e.json:1: [0].case: expected the name of a case"},
                    Refusal{R"([{"case": "fallocate.modes", "contract": {}}])", "[0].contract: expected"},
                    Refusal{R"([{"case": "fallocate.modes", "contract": {"a": null}}])", "[0].contract.a: expected"},
                    Refusal{R"([{"case": "fallocate.modes", "contract": {"a": 1}, "limits": []}])",
                            "[0].limits: unknown key"},
                    Refusal{R"([{"case": "fallocate.modes", "contract": {"a": 1}, "limitations": [
            {"filesystems": ["*"], "observe": {"a": 2}, "source": "s"}]}])",
                            "e.json:2: [0].limitations[0]: expected an object with the key \"why\""},
                    Refusal{R"([{"case": "fallocate.modes", "contract": {"a": 1}, "limitations": [
            {"filesystems": ["*"], "observe": {"a": 2}, "why": "w", "source": " "}]}])",
                            "[0].limitations[0].source: expected a text that is not empty"},
                    Refusal{R"([{"case": "fallocate.modes", "contract": {"a": 1}, "limitations": [
            {"filesystems": [], "observe": {"a": 2}, "why": "w", "source": "s"}]}])",
                            "[0].limitations[0].filesystems: expected one pattern or more"},
                    Refusal{R"([{"case": "fallocate.modes", "contract": {"a": 1}, "per_filesystem": [
            {"filesystems": ["*"], "kernel": "5.5", "expect": {"a": 2}, "why": "w", "source": "s"}]}])",
                            "[0].per_filesystem[0].kernel: expected a range of kernels"},
                    Refusal{R"([{"case": "fallocate.modes", "contract": {"a": 1}},
                    {"case": "fallocate.modes", "contract": {"a": 1}}])",
                            "e.json:2: [1].case: expected one entry for each case, and e.json:1 has one"}));

TEST(Expectations, RefusesTwoEntriesInTwoDocuments) {
    const std::vector documents{Document::parse(R"([{"case": "fallocate.modes", "contract": {"a": 1}}])", "a.json"),
                                Document::parse(R"([{"case": "fallocate.modes", "contract": {"a": 2}}])", "b.json")};
    EXPECT_THAT(
        [&] { (void)Expectations::parse(documents, known); },
        ThrowsMessage<BadInput>(HasSubstr("b.json:1: [0].case: expected one entry for each case, and a.json:1")));
}

TEST(Expectations, WhatCasesShareAddsToTheirOwn) {
    const auto expectations = parse(R"([
        {"cases": ["aio_append.*", "fallocate.modes"], "contract": {"a": 1, "b": 1},
         "limitations": [{"filesystems": ["*"], "observe": {"b": 2}, "why": "shared", "source": "s"}]},
        {"case": "fallocate.modes", "contract": {"a": 5},
         "limitations": [{"filesystems": ["*"], "observe": {"b": 3}, "why": "own", "source": "s"}]}])");
    const auto* const shared = expectations.find("aio_append.at_eof");
    ASSERT_NE(shared, nullptr);
    EXPECT_TRUE(shared->contract.at("a").matches(1));
    const auto* const own = expectations.find("fallocate.modes");
    EXPECT_TRUE(own->contract.at("a").matches(5));
    EXPECT_TRUE(own->contract.at("b").matches(1));
    ASSERT_EQ(own->limitations.size(), 2U);
    EXPECT_EQ(own->limitations[0].why, "own");
    EXPECT_THAT([] { (void)parse(R"([{"cases": ["nothing.*"], "contract": {"a": 1}}])"); },
                ThrowsMessage<BadInput>(HasSubstr("[0].cases[0]: expected a pattern that some case matches")));
}

TEST(Expectations, AUsersDocumentReplacesWholeEntries) {
    auto expectations = parse(R"([{"case": "fallocate.modes", "contract": {"a": 1, "b": 1}},
                                  {"case": "aio_append.at_eof", "contract": {"c": 1}}])");
    expectations.replace(Document::parse(R"([{"case": "fallocate.modes", "contract": {"a": 2}}])", "u.json"), known);
    const auto& contract = expectations.find("fallocate.modes")->contract;
    EXPECT_EQ(contract.size(), 1U);
    EXPECT_TRUE(contract.at("a").matches(2));
    EXPECT_NE(expectations.find("aio_append.at_eof"), nullptr);
    EXPECT_THROW(expectations.replace(Document::parse(R"([{"case": "no.such", "contract": {"a": 2}}])", "u"), known),
                 BadInput);
}

}  // namespace
}  // namespace holdfast
