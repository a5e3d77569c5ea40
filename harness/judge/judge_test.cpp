#include "harness/judge/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

const CaseNames known{"aio_append.at_eof"};
const Profile mainline{.name = "mainline", .describes = "", .drops = {}};

// ext3 and ext4 block; XFS is expected to count 1; everything else as the contract says.
constexpr auto* document = R"([{
    "case": "aio_append.at_eof",
    "contract": {"submission": "async", "count": {"from": 0, "to": 0}, "note": {"any": true}},
    "per_filesystem": [
        {"filesystems": ["xfs*"], "expect": {"count": 1}, "why": "one", "source": "xfs commit 1"},
        {"filesystems": ["xfs-new"], "kernel": ">=6.0", "expect": {"count": 2}, "why": "two", "source": "xfs commit 2"}],
    "limitations": [
        {"filesystems": ["ext[34]*"], "kernel": ">=5.5", "observe": {"submission": "blocks", "where": "iomap_dio_rw"},
         "why": "ext4 waits for an extending direct write", "source": "commit 378f32bab371"},
        {"filesystems": ["ext4-slow"], "observe": {"count": {"from": 1, "to": 9}},
         "why": "it counts", "source": "commit 2"}]}])";

struct Told {
    const char* name;
    nlohmann::json value;
};

class Judge : public testing::Test {
 protected:
    Judgement judge_on(std::string_view filesystem, std::initializer_list<Told> told,
                       KernelVersion kernel = {6, 1, 0}) {
        std::vector<Observation> observations;
        for (const auto& [name, value] : told) observations.push_back({.name = name, .value = value});
        return judge({"aio_append.at_eof", filesystem, kernel}, expectations, profile, observations);
    }

    const Value parsed = Document::parse(document, "e.json");
    Expectations expectations = Expectations::parse({&parsed, 1}, known);
    Profile profile = mainline;
};

TEST_F(Judge, WhatTheContractSaysIsPass) {
    const auto judgement = judge_on("btrfs", {{"submission", "async"}, {"count", 0}, {"note", "anything"}});
    EXPECT_EQ(judgement.verdict, Verdict::pass);
    EXPECT_THAT(judgement.reason, IsEmpty());
    ASSERT_EQ(judgement.observations.size(), 3U);
    EXPECT_EQ(judgement.observations[0].expected, "async");
    EXPECT_THAT(judgement.observations[0].source, IsEmpty());
}

TEST_F(Judge, WhatBreaksTheContractIsFail) {
    const auto judgement = judge_on("btrfs", {{"submission", "blocks"}, {"count", 0}});
    EXPECT_EQ(judgement.verdict, Verdict::fail);
    EXPECT_EQ(judgement.reason, "submission is blocks, expected async");
    EXPECT_EQ(judgement.observations[0].verdict, Verdict::fail);
    EXPECT_EQ(judgement.observations[1].verdict, Verdict::pass);
}

TEST_F(Judge, WhatALimitationListsIsXfail) {
    const auto judgement = judge_on("ext4", {{"submission", "blocks"}, {"where", "iomap_dio_rw"}, {"count", 0}});
    EXPECT_EQ(judgement.verdict, Verdict::xfail);
    EXPECT_EQ(judgement.reason, "ext4 waits for an extending direct write (commit 378f32bab371)");
    const auto& submission = judgement.observations[0];
    EXPECT_EQ(submission.verdict, Verdict::xfail);
    EXPECT_EQ(submission.expected, "async");
    EXPECT_EQ(submission.source, "commit 378f32bab371");
    EXPECT_EQ(judgement.observations[1].verdict, Verdict::xfail);
    EXPECT_EQ(judgement.observations[1].expected, "iomap_dio_rw");
}

TEST_F(Judge, ALimitationNeedNotBeReportedInFull) {
    EXPECT_EQ(judge_on("ext4", {{"submission", "blocks"}, {"count", 0}}).verdict, Verdict::xfail);
}

TEST_F(Judge, ALimitationExplainsOnlyAsAWhole) {
    const auto judgement = judge_on("ext4", {{"submission", "blocks"}, {"where", "folio_wait_bit"}, {"count", 0}});
    EXPECT_EQ(judgement.verdict, Verdict::fail);
    EXPECT_EQ(judgement.reason, "submission is blocks, expected async; where is folio_wait_bit, expected iomap_dio_rw");
}

TEST_F(Judge, ALimitationHoldsInItsRangeAlone) {
    EXPECT_EQ(judge_on("ext4", {{"submission", "blocks"}, {"count", 0}}, {5, 4, 0}).verdict, Verdict::fail);
    EXPECT_EQ(judge_on("ext2", {{"submission", "blocks"}, {"count", 0}}).verdict, Verdict::fail);
}

TEST_F(Judge, AKernelThatGotBetterIsXpass) {
    const auto judgement = judge_on("ext4", {{"submission", "async"}, {"count", 0}});
    EXPECT_EQ(judgement.verdict, Verdict::xpass);
    EXPECT_EQ(judgement.reason,
              "submission is async, better than: ext4 waits for an extending direct write (commit 378f32bab371)");
    EXPECT_EQ(judgement.observations[0].verdict, Verdict::xpass);
    EXPECT_EQ(judgement.observations[1].verdict, Verdict::pass);
}

TEST_F(Judge, XfailIsWorseThanXpass) {
    const auto judgement = judge_on("ext4-slow", {{"submission", "async"}, {"count", 5}});
    EXPECT_EQ(judgement.verdict, Verdict::xfail);
    EXPECT_THAT(judgement.reason,
                HasSubstr("it counts (commit 2); XPASS: submission is async, better than: ext4 waits"));
    EXPECT_EQ(judge_on("ext4-slow", {{"submission", "async"}, {"count", 10}}).verdict, Verdict::fail);
}

TEST_F(Judge, TheLastOverrideThatCoversWins) {
    EXPECT_EQ(judge_on("xfs", {{"submission", "async"}, {"count", 1}}).verdict, Verdict::pass);
    const auto newer = judge_on("xfs-new", {{"submission", "async"}, {"count", 2}});
    EXPECT_EQ(newer.verdict, Verdict::pass);
    EXPECT_EQ(newer.observations[1].source, "xfs commit 2");
    EXPECT_EQ(judge_on("xfs-new", {{"submission", "async"}, {"count", 1}}, {5, 9, 0}).verdict, Verdict::pass);
    EXPECT_EQ(judge_on("xfs", {{"submission", "async"}, {"count", 0}}).reason, "count is 0, expected 1");
}

TEST_F(Judge, WhatNothingCoversIsFail) {
    const auto judgement = judge_on("xfs", {{"submission", "async"}, {"count", 1}, {"where", "xfs_ilock"}});
    EXPECT_EQ(judgement.verdict, Verdict::fail);
    EXPECT_EQ(judgement.reason, "no expectation covers where (xfs_ilock)");
    EXPECT_TRUE(judgement.observations[2].expected.is_null());
    EXPECT_EQ(judge_on("xfs", {{"where", "xfs_ilock"}, {"submission", "blocks"}, {"count", 1}}).reason,
              "submission is blocks, expected async; no expectation covers where (xfs_ilock)");
}

TEST_F(Judge, ACaseWithoutAnExpectationIsFail) {
    const auto judgement =
        judge({"fallocate.modes", "ext4", {6, 1, 0}}, expectations, mainline, {{.name = "a", .value = 1}});
    EXPECT_EQ(judgement.verdict, Verdict::fail);
    EXPECT_EQ(judgement.reason, "no expectation covers fallocate.modes");
}

TEST_F(Judge, ACaseThatReportsNothingIsFail) {
    const auto judgement = judge_on("ext4", {});
    EXPECT_EQ(judgement.verdict, Verdict::fail);
    EXPECT_EQ(judgement.reason, "the case reported nothing");
}

TEST_F(Judge, ACaseThatFallsSilentIsFail) {
    const auto judgement = judge_on("btrfs", {{"submission", "async"}});
    EXPECT_EQ(judgement.verdict, Verdict::fail);
    EXPECT_EQ(judgement.reason, "count was not reported, expected 0 to 0");
    ASSERT_EQ(judgement.observations.size(), 2U);
    EXPECT_TRUE(judgement.observations[1].observation.value.is_null());
    EXPECT_EQ(judge_on("ext4", {{"submission", "async"}}).verdict, Verdict::fail);
}

TEST_F(Judge, AnXfailMayHaveEndedTheCase) {
    EXPECT_EQ(judge_on("ext4", {{"submission", "blocks"}}).verdict, Verdict::xfail);
    EXPECT_EQ(judge_on("btrfs", {{"submission", "blocks"}}).reason, "submission is blocks, expected async");
}

TEST_F(Judge, ManyDeviationsMakeAShortReason) {
    const auto judgement = judge_on("btrfs", {{"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}, {"count", 5}});
    EXPECT_EQ(judgement.reason,
              "count is 5, expected 0 to 0; no expectation covers a (1); no expectation covers b (2); 2 more");
}

TEST_F(Judge, AProfileTakesTheExcuseAway) {
    profile = {.name = "async", .describes = "", .drops = {{{"aio_append.*"}, {"ext4*"}, {{"submission", "blocks"}}}}};
    const auto unpatched = judge_on("ext4", {{"submission", "blocks"}, {"where", "iomap_dio_rw"}, {"count", 0}});
    EXPECT_EQ(unpatched.verdict, Verdict::fail);
    EXPECT_EQ(
        unpatched.reason,
        "submission is blocks, expected async; no expectation covers where (iomap_dio_rw); profile async no longer "
        "allows: ext4 waits for an extending direct write (commit 378f32bab371)");
    EXPECT_EQ(judge_on("ext4", {{"submission", "async"}, {"count", 0}}).verdict, Verdict::pass);
    EXPECT_EQ(judge_on("ext3", {{"submission", "blocks"}, {"count", 0}}).verdict, Verdict::xfail);
    EXPECT_EQ(judge_on("ext4-slow", {{"submission", "async"}, {"count", 5}}).verdict, Verdict::xfail);
}

TEST(Reason, WhatTwoLimitationsSayIsSaidOnce) {
    const auto parsed_twice = Document::parse(R"([{
        "case": "aio_append.at_eof", "contract": {"a": 0, "b": 0, "c": 0},
        "limitations": [
            {"filesystems": ["*"], "observe": {"a": 1}, "why": "not there", "source": "manual"},
            {"filesystems": ["*"], "observe": {"b": 1}, "why": "not there", "source": "seen"},
            {"filesystems": ["*"], "observe": {"c": 1}, "why": "slow", "source": "seen"}]}])",
                                              "e.json");
    const auto judgement =
        judge({"aio_append.at_eof", "ext4", {6, 1, 0}}, Expectations::parse({&parsed_twice, 1}, known), mainline,
              {{.name = "a", .value = 1}, {.name = "b", .value = 1}, {.name = "c", .value = 1}});
    EXPECT_EQ(judgement.reason, "not there (manual; seen); slow (seen)");
}

}  // namespace
}  // namespace holdfast
