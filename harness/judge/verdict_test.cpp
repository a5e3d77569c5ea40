#include "harness/judge/verdict.h"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

VerdictCounts count(std::initializer_list<Verdict> verdicts) {
    VerdictCounts counts;
    for (const auto verdict : verdicts) counts.add(verdict);
    return counts;
}

TEST(Verdict, TextGoesBothWays) {
    for (const auto verdict : all_verdicts) EXPECT_EQ(parse_verdict(verdict_text(verdict)), verdict);
    for (const auto* text : {"", "pass", "PASSED", "TIMEOUT"}) EXPECT_EQ(parse_verdict(text), std::nullopt) << text;
}

TEST(Verdict, TheWorseOfTwo) {
    const std::array order{Verdict::pass,   Verdict::xpass, Verdict::xfail, Verdict::skip,
                           Verdict::broken, Verdict::fail,  Verdict::hang,  Verdict::crash};
    for (std::size_t i = 0; i < order.size(); ++i)
        for (std::size_t j = 0; j < order.size(); ++j) EXPECT_EQ(worse(order[i], order[j]), order[std::max(i, j)]);
}

TEST(Outcome, FollowsTheWorstVerdict) {
    using enum Verdict;
    EXPECT_EQ(outcome(count({pass, xfail, xpass, skip}), false).exit_status, 0);
    EXPECT_EQ(outcome(count({pass, fail}), false).exit_status, 1);
    EXPECT_EQ(outcome(count({pass, hang}), false).exit_status, 1);
    EXPECT_EQ(outcome(count({broken, crash}), false).exit_status, 1);
    EXPECT_EQ(outcome(count({pass, broken}), false).exit_status, 3);
}

TEST(Outcome, StrictCountsXpassAndSkip) {
    using enum Verdict;
    EXPECT_EQ(outcome(count({pass, xfail}), true).exit_status, 0);
    EXPECT_EQ(outcome(count({pass, xpass}), true).exit_status, 1);
    EXPECT_EQ(outcome(count({pass, skip}), true).exit_status, 1);
    EXPECT_EQ(outcome(count({skip}), true).exit_status, 1);
    EXPECT_EQ(outcome(count({broken, xpass}), true).exit_status, 1);
}

TEST(Outcome, ARunInWhichNothingRanIsNeverZero) {
    EXPECT_EQ(outcome(count({}), false).exit_status, 3);
    EXPECT_EQ(outcome(count({}), true).exit_status, 3);
    EXPECT_EQ(outcome(count({Verdict::skip, Verdict::skip}), false).exit_status, 3);
    EXPECT_EQ(outcome(count({Verdict::skip}), false).sentence, "nothing ran");
}

TEST(Outcome, SaysWhy) {
    using enum Verdict;
    EXPECT_EQ(outcome(count({pass, fail, fail, crash, broken, skip}), false).sentence, "2 FAIL, 1 CRASH, 1 BROKEN");
    EXPECT_EQ(outcome(count({xpass, fail}), true).sentence, "1 XPASS, 1 FAIL");
    EXPECT_EQ(outcome(count({pass}), false).sentence, "nothing failed");
}

}  // namespace
}  // namespace holdfast
