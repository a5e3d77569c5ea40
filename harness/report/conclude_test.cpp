#include "harness/report/conclude.h"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast {
namespace {

using testing::HasSubstr;
using testing::Not;

const CaseNames known{"a.b"};

class Conclude : public testing::Test {
 protected:
    CaseResult conclude_from(const CaseReport& report, const Ended& ended) {
        return conclude({"a.b", "ext4", expectations, profile}, report, ended);
    }

    const Value document = Document::parse(R"([{"case": "a.b", "contract": {"errno": 0}}])", "e.json");
    const Expectations expectations = Expectations::parse({&document, 1}, known);
    const Profile profile{.name = "mainline", .describes = "", .drops = {}};
    const CaseReport whole{.observations = {{.name = "errno", .value = 0}}, .done = true};
};

TEST_F(Conclude, WhatWasObservedIsJudged) {
    EXPECT_EQ(conclude_from(whole, {}).verdict, Verdict::pass);
    EXPECT_EQ(conclude_from({.observations = {{.name = "errno", .value = 5}}, .done = true}, {}).verdict,
              Verdict::fail);
}

TEST_F(Conclude, ATimeBoundThatPassesBeforeTheCaseBeganSaysNothingOfTheKernel) {
    const Ended late{.stacks = nlohmann::json::object(), .time_bound = std::chrono::seconds{30}};
    for (const auto phase : {std::string_view{"starting"}, phase_mkfs}) {
        const auto result = conclude_from({.phase = std::string{phase}}, late);
        EXPECT_EQ(result.verdict, Verdict::broken) << phase;
        EXPECT_THAT(result.reason, HasSubstr(std::string{phase}));
        EXPECT_TRUE(result.evidence.contains("stacks"));
    }
    for (const auto phase : {phase_case, phase_unmount, phase_fsck})
        EXPECT_EQ(conclude_from({.phase = std::string{phase}}, late).verdict, Verdict::hang) << phase;
}

TEST_F(Conclude, SoDoesADeath) {
    const Ended killed{.ending = Ending{std::nullopt, SIGKILL}};
    EXPECT_EQ(conclude_from({.phase = std::string{phase_mkfs}}, killed).verdict, Verdict::broken);
    EXPECT_EQ(conclude_from({.phase = std::string{phase_case}}, killed).verdict, Verdict::fail);
}

TEST_F(Conclude, AFilesystemThatComplainsOfAFullDiskBeforeTheCaseBeganIsBroken) {
    const std::string alarm = "XFS (loop0): log I/O error -5";
    const CaseReport at_mount{.phase = std::string{phase_mkfs}, .broken = "mounting /dev/loop0: EIO"};
    Ended ended{.kernel_log = {"I/O error, dev loop0, sector 8 op 0x1:(WRITE)", alarm}, .alarms = {alarm}};
    EXPECT_EQ(conclude_from(at_mount, ended).verdict, Verdict::broken);
    EXPECT_EQ(conclude_from({.phase = std::string{phase_case}}, ended).verdict, Verdict::crash);
    ended.kernel_log = {alarm};
    EXPECT_EQ(conclude_from(at_mount, ended).verdict, Verdict::crash);
}

TEST_F(Conclude, ACrashThatHangsTooKeepsTheStacks) {
    const Ended ended{.stacks = "1 holdfast: iomap_dio_rw", .alarms = {"Oops: 0002 [#1]"}};
    const auto result = conclude_from({.phase = std::string{phase_case}}, ended);
    EXPECT_EQ(result.verdict, Verdict::crash);
    EXPECT_EQ(result.evidence.at("stacks"), *ended.stacks);
}

TEST_F(Conclude, OfAToolsManyWordsTheReasonHasTheFirst) {
    const std::string said =
        "mkfs.ext4 -Q failed with exit status 1: mkfs.ext4: invalid option -- 'Q'\nUsage: mkfs.ext4 [-c]\n\t[-i]\n";
    const auto result = conclude_from({.phase = std::string{phase_mkfs}, .broken = said}, {});
    EXPECT_EQ(result.verdict, Verdict::broken);
    EXPECT_THAT(result.reason, HasSubstr("invalid option -- 'Q', while making and mounting"));
    EXPECT_THAT(result.reason, Not(HasSubstr("Usage")));
    EXPECT_EQ(result.evidence.at("message"), said);
    EXPECT_FALSE(conclude_from({.broken = "no loop device"}, {}).evidence.contains("message"));
}

}  // namespace
}  // namespace holdfast
