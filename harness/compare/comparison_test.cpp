#include "harness/compare/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/compare/comparison_text.h"

namespace holdfast {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

JudgedObservation observed(const std::string& name, const nlohmann::json& value, Verdict verdict = Verdict::pass) {
    return {{.name = name, .value = value}, value, verdict};
}

CaseResult result(const std::string& name, Verdict verdict, std::vector<JudgedObservation> observations = {}) {
    return {.name = name,
            .filesystem = "ext4",
            .disk = "file",
            .verdict = verdict,
            .observations = std::move(observations)};
}

Results run_of(std::vector<CaseResult> cases) {
    Results results;
    results.cases = std::move(cases);
    return results;
}

Change change_between(Verdict before, Verdict after) {
    return compare(run_of({result("a.b", before)}), run_of({result("a.b", after)})).cases.at(0).change;
}

TEST(Comparison, VerdictsAreWorseFurtherFromTheContract) {
    EXPECT_EQ(change_between(Verdict::pass, Verdict::xfail), Change::worse);
    EXPECT_EQ(change_between(Verdict::xfail, Verdict::fail), Change::worse);
    EXPECT_EQ(change_between(Verdict::fail, Verdict::hang), Change::worse);
    EXPECT_EQ(change_between(Verdict::hang, Verdict::crash), Change::worse);
    EXPECT_EQ(change_between(Verdict::xfail, Verdict::pass), Change::better);
    EXPECT_EQ(change_between(Verdict::crash, Verdict::xpass), Change::better);
    EXPECT_EQ(change_between(Verdict::pass, Verdict::xpass), Change::same);
    EXPECT_EQ(change_between(Verdict::fail, Verdict::fail), Change::same);
}

TEST(Comparison, AnAnswerThatIsMissingIsLostAndNeverSame) {
    EXPECT_EQ(change_between(Verdict::pass, Verdict::broken), Change::lost);
    EXPECT_EQ(change_between(Verdict::fail, Verdict::skip), Change::lost);
    EXPECT_EQ(change_between(Verdict::skip, Verdict::fail), Change::fresh);
    EXPECT_EQ(change_between(Verdict::skip, Verdict::broken), Change::same);
    EXPECT_TRUE(compare(run_of({result("a.b", Verdict::pass)}), run_of({result("a.b", Verdict::skip)})).is_worse());
}

TEST(Comparison, WhatOnlyOneHasIsNoChange) {
    const auto comparison = compare(run_of({result("a.b", Verdict::pass)}), run_of({result("a.c", Verdict::fail)}));
    EXPECT_THAT(comparison.cases, IsEmpty());
    EXPECT_THAT(comparison.only_before, ElementsAre("a.b/ext4"));
    EXPECT_THAT(comparison.only_after, ElementsAre("a.c/ext4"));
    EXPECT_FALSE(comparison.is_worse());
}

TEST(Comparison, OneObservationThatIsWorseIsNotMadeUpForByAnother) {
    const auto comparison =
        compare(run_of({result("a.b", Verdict::xfail, {observed("x", "good"), observed("y", "bad", Verdict::xfail)})}),
                run_of({result("a.b", Verdict::xfail, {observed("x", "bad", Verdict::xfail), observed("y", "good")})}));
    EXPECT_EQ(comparison.cases.at(0).change, Change::worse);
    EXPECT_EQ(comparison.cases.at(0).observations.at(0).name, "x");
    EXPECT_EQ(comparison.cases.at(0).observations.at(1).change, Change::better);
}

TEST(Comparison, ValuesAndStacksUnderTheSameVerdictAreChanged) {
    auto before = observed("where", "iomap_dio_rw", Verdict::xfail);
    before.observation.evidence = {{"stack", {"iomap_dio_rw", "ext4_file_write_iter"}}};
    auto after = observed("where", "inode_dio_wait", Verdict::xfail);
    after.observation.evidence = {{"stack", {"inode_dio_wait", "ext4_file_write_iter"}}};
    const auto first = run_of({result("a.b", Verdict::xfail, {before})});
    const auto second = run_of({result("a.b", Verdict::xfail, {after})});
    const auto comparison = compare(first, second);
    EXPECT_EQ(comparison.cases.at(0).change, Change::changed);
    EXPECT_FALSE(comparison.is_worse());
    EXPECT_THAT(format_comparison(comparison, first, second),
                AllOf(HasSubstr("a.b on ext4: XFAIL; where: iomap_dio_rw -> inode_dio_wait\n"),
                      HasSubstr("where, stack after:  inode_dio_wait < ext4_file_write_iter\n"),
                      HasSubstr("1 cases in both: 1 changed\n")));
}

TEST(Comparison, NumbersChangeWhereTheirRangesDoNotOverlap) {
    const auto counted = [](int value, const std::vector<int>& samples) {
        auto judged = observed("flushes", value);
        judged.observation.samples = samples;
        return run_of({result("a.b", Verdict::pass, {judged})});
    };
    EXPECT_EQ(compare(counted(32, {32, 33}), counted(33, {33, 34})).cases.at(0).change, Change::same);
    EXPECT_EQ(compare(counted(32, {32, 33}), counted(64, {64, 65})).cases.at(0).change, Change::changed);
    EXPECT_EQ(compare(counted(32, {}), counted(33, {})).cases.at(0).change, Change::changed);
}

TEST(Comparison, RepetitionsAreOneCaseWithItsWorstVerdict) {
    auto second = result("a.b", Verdict::fail, {observed("x", "bad", Verdict::fail)});
    second.repetition = 2;
    const auto comparison = compare(run_of({result("a.b", Verdict::pass, {observed("x", "good")})}),
                                    run_of({result("a.b", Verdict::pass, {observed("x", "good")}), second}));
    ASSERT_EQ(comparison.cases.size(), 1);
    EXPECT_EQ(comparison.cases[0].change, Change::worse);
    EXPECT_EQ(comparison.cases[0].observations.at(0).after, "bad or good");
}

TEST(Comparison, ListsTheWorstFirstAndFilesystemsThatChangedAlikeTogether) {
    auto xfs = result("a.hang", Verdict::hang);
    xfs.filesystem = "xfs";
    auto xfs_before = result("a.hang", Verdict::pass);
    xfs_before.filesystem = "xfs";
    const auto before = run_of({result("a.better", Verdict::fail), result("a.same", Verdict::pass),
                                result("a.fail", Verdict::pass), result("a.hang", Verdict::pass), xfs_before});
    const auto after = run_of({result("a.better", Verdict::pass), result("a.same", Verdict::pass),
                               result("a.fail", Verdict::fail), result("a.hang", Verdict::hang), xfs});
    const auto comparison = compare(before, after);
    const auto text = format_comparison(comparison, before, after);
    EXPECT_THAT(text,
                HasSubstr("\nworse\n  a.hang on ext4, xfs: PASS -> HANG\n  a.fail on ext4: PASS -> FAIL\n\nbetter\n"));
    EXPECT_THAT(text, AllOf(Not(HasSubstr("a.same")), HasSubstr("5 cases in both: 3 worse, 1 better, 1 same\n")));
    const auto json = to_json(comparison, before, after);
    EXPECT_EQ(json["counts"]["worse"], 3);
    EXPECT_EQ(json["changes"][0]["after"], "HANG");
}

}  // namespace
}  // namespace holdfast
