// A random sequence that fails is made small, and fails again when it is carried out again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/probe/requirement.h"
#include "harness/testing/program.h"

namespace holdfast {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Replay, AFailureIsMadeSmallAndFailsAgain) {
    if (const auto missing = find_missing(Requirement{"feature", "fuse"})) GTEST_SKIP() << missing->what;
    const Scratch scratch;
    const auto file = (scratch / "results.json").string();
    const auto run =
        holdfast_planted({"run", "planted.lost_write", "--filesystem", "ext4", "--seed", "5", "--results", file});
    EXPECT_EQ(run.ending.status, 1) << run.output;
    EXPECT_THAT(run.output, HasSubstr("holdfast replay"));
    const auto result = read_result_file(file).cases.at(0);
    const auto evidence = result.observations.at(0).observation.evidence;
    EXPECT_LE(evidence.at("replay").at("steps").size(), 4U) << evidence.dump(2);

    const auto again = (scratch / "again.json").string();
    const auto replay = holdfast_planted({"replay", file, "--results", again});
    EXPECT_EQ(replay.ending.status, 1) << replay.output;
    const auto same = read_result_file(again).cases.at(0).observations.at(0).observation.evidence;
    EXPECT_EQ(same.at("replay"), evidence.at("replay"));
    EXPECT_EQ(same.at("sequences"), 1);
}

TEST(Replay, StepsOfOnesOwnRunOnTheFilesystemsNamed) {
    if (const auto missing = find_missing(Requirement{"feature", "fuse"})) GTEST_SKIP() << missing->what;
    const Scratch scratch;
    const auto file = scratch.write("steps.json", R"({"filesystem": "ext4", "steps": [
        {"do": "write", "file": 0, "offset": 0, "length": 8192, "way": "directly by io_submit"},
        {"do": "sync", "file": 0, "by": "fsync"},
        {"do": "power_cut", "back": 0, "kept": "certain", "seed": 1}]})");
    const auto results = (scratch / "results.json").string();
    const auto replay = holdfast({"replay", file.string(), "--filesystem", "ext4,xfs", "--results", results});
    EXPECT_EQ(replay.ending.status, 0) << replay.output;
    const auto cases = read_result_file(results).cases;
    ASSERT_EQ(cases.size(), 2U);
    EXPECT_EQ(cases[1].filesystem, "xfs");
}

TEST(Replay, BadFilesAreNamedWithTheirPlace) {
    const Scratch scratch;
    const auto refuses = [](const std::filesystem::path& file, const auto& message) {
        const auto run = holdfast({"replay", file.string()});
        EXPECT_EQ(run.ending.status, 2) << run.output;
        EXPECT_THAT(run.output, message);
    };
    refuses(scratch / "none.json", HasSubstr("none.json"));
    refuses(scratch.write("empty.json", R"({"schema": "holdfast-results/1", "cases": []})"),
            HasSubstr("no result in it tells steps"));
    refuses(scratch.write("bad.json", "{\"filesystem\": \"ext4\",\n \"steps\": [{\"do\": \"jump\"}]}"),
            AllOf(HasSubstr("bad.json:2"), HasSubstr("steps[0].do: expected one of write, ")));
    refuses(scratch.write("where.json", R"({"filesystem": "ext5", "steps": []})"), HasSubstr("ext5"));
}

}  // namespace
}  // namespace holdfast
