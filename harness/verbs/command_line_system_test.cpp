// What the command line takes, and what a run says of itself, from the outside.
#include <csignal>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/testing/program.h"

namespace holdfast {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Arguments = std::vector<std::string>;

// "family.case/filesystem" of each result, in the order of the file.
std::vector<std::string> names_in(const std::filesystem::path& file) {
    std::vector<std::string> names;
    for (const auto& result : read_result_file(file).cases) names.push_back(result.name + "/" + result.filesystem);
    return names;
}

TEST(CommandLine, OptionsTakeOneArgumentAndLeaveTheFilter) {
    const Scratch scratch;
    const auto file = (scratch / "results.json").string();
    holdfast({"run", "--filesystem", "ext4,xfs", "--filesystem", "ext4", "fallocate.errors", "--results", file});
    EXPECT_THAT(names_in(file), ElementsAre("fallocate.errors/ext4", "fallocate.errors/xfs"));
    const auto recipe =
        scratch.write("mine.json", R"({"name": "ext4-mine", "describes": "x", "type": "ext4", "size": "64M"})");
    holdfast({"run", "--recipe", recipe.string(), "fallocate.errors", "--results", file});
    EXPECT_THAT(names_in(file), ElementsAre("fallocate.errors/ext4-mine"));
}

TEST(CommandLine, AFilterMayOnlyLeaveOut) {
    const auto run = holdfast({"list", "-*/ext*:aio_append.*"});
    EXPECT_EQ(run.ending.status, 0) << run.output;
    EXPECT_THAT(run.output, AllOf(HasSubstr("fallocate.modes"), HasSubstr("xfs"), Not(HasSubstr("ext4 ")),
                                  Not(HasSubstr("aio_append"))));
}

TEST(CommandLine, WhatMatchesNothingOrIsUnknownIsNamed) {
    const Scratch scratch;
    const auto file = (scratch / "x").string();
    const auto refuses = [](const Arguments& arguments, const std::string& message) {
        const auto run = holdfast(arguments);
        EXPECT_EQ(run.ending.status, 2) << run.output;
        EXPECT_THAT(run.output, HasSubstr(message));
    };
    refuses({"frob"}, "no verb \"frob\"; there are: run, ");
    refuses({"--gtest_filter=nope"}, "no case matches \"nope\"");
    refuses({"run", "fallocate.errors", "--for", "10m"}, "--for: none of the chosen cases works in rounds");
    refuses({"run", "stale_data.stress", "--for", "10x"}, "x unit not recognized");
    refuses({"run", "--junit", file, "--results", file}, "a file each");
    EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(CommandLine, ExplainsACaseOnAFilesystem) {
    EXPECT_THAT(holdfast({"explain", "fallocate.no_space/ext3-barrier"}).output, HasSubstr("indirect blocks"));
    const auto run = holdfast({"explain", "fallocate.no_space/ext4"});
    EXPECT_EQ(run.ending.status, 0) << run.output;
    EXPECT_THAT(run.output, AllOf(HasSubstr("Contract"), Not(HasSubstr("indirect blocks"))));
    EXPECT_EQ(holdfast({"explain", "fallocate.no_space/ext5"}).ending.status, 2);
}

TEST(Results, AreInTheOrderOfThePlan) {
    const Scratch scratch;
    const auto file = (scratch / "results.json").string();
    // The poisoned case takes longer than all others together.
    holdfast({"run", "fallocate.modes:fallocate.posix_fallocate", "--filesystem", "ext4,ext4-1k", "--jobs", "2",
              "--results", file});
    EXPECT_THAT(names_in(file), ElementsAre("fallocate.modes/ext4", "fallocate.modes/ext4-1k",
                                            "fallocate.posix_fallocate/ext4", "fallocate.posix_fallocate/ext4-1k"));
}

std::string text_of(const std::filesystem::path& file) {
    std::ifstream stream{file};
    return {std::istreambuf_iterator<char>{stream}, {}};
}

TEST(Rounds, GoOnForAsLongAsWasAsked) {
    const Scratch scratch;
    const auto file = scratch / "results.json";
    holdfast({"run", "stale_data.stress", "--for", "6s", "--filesystem", "ext4", "--results", file.string()});
    const auto results = read_result_file(file);
    ASSERT_EQ(results.cases.size(), 1U);
    EXPECT_EQ(results.cases.front().verdict, Verdict::pass) << results.cases.front().reason;
    EXPECT_GE(results.cases.front().seconds, 6);
    EXPECT_THAT(results.cases.front().command, HasSubstr("--for 6"));
}

TEST(EndedEarly, WhatDidNotRunIsNoSuccessInAnyFormat) {
    const Scratch scratch;
    const auto junit = scratch / "junit.xml";
    const auto printed = scratch / "printed";
    const Descriptor output{::open(printed.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)};
    auto child =
        ChildProcess::start({.program = HOLDFAST,
                             .arguments = {"run", "fallocate.errors/ext4", "--repeat", "5000", "--format", "ktap",
                                           "--junit", junit.string(), "--results", (scratch / "results.json").string()},
                             .output = output.get()});
    EXPECT_FALSE(child.wait_for(std::chrono::seconds{2}));
    ::kill(child.id(), SIGINT);
    EXPECT_EQ(child.wait().status, 128 + SIGINT);
    EXPECT_THAT(text_of(printed), AllOf(HasSubstr("1..5000\n"), HasSubstr("# ERROR did not run: ended early by SIGINT"),
                                        HasSubstr("\nnot ok 1 fallocate.errors\n")));
    EXPECT_THAT(text_of(junit), AllOf(HasSubstr("tests=\"5000\""), HasSubstr("<error type=\"BROKEN\"")));
}

// A case that no expectation can make fail finds nothing out.
void expect_fail_by(const std::string& name, const std::string& expectations, const std::string& reason) {
    const Scratch scratch;
    const auto mine = scratch.write("mine.json", expectations);
    const auto file = scratch / "results.json";
    const auto run = holdfast({"run", "--expectations", mine.string(), name + "/ext4", "--results", file.string()});
    const auto result = read_result_file(file).cases.at(0);
    if (result.verdict == Verdict::skip) GTEST_SKIP() << result.reason;
    EXPECT_EQ(run.ending.status, 1) << run.output;
    EXPECT_EQ(result.verdict, Verdict::fail);
    EXPECT_THAT(result.reason, HasSubstr(reason));
}

TEST(OwnExpectations, ThatSayTheOppositeMakeNoSpaceFail) {
    expect_fail_by("fallocate.no_space", R"([{"case": "fallocate.no_space", "contract": {
        "preallocation": "works", "size after preallocation": 0, "fallocate on the full filesystem": "works",
        "file afterwards": {"any": true}, "direct writes into the preallocation": "works",
        "buffered writes into the preallocation": "works", "data written": "kept"}}])",
                   "fallocate on the full filesystem is ENOSPC, expected works");
}

TEST(OwnExpectations, ThatSayTheOppositeMakeConversionCountFail) {
    expect_fail_by("unwritten.conversion_count", R"([{"case": "unwritten.conversion_count", "contract": {
        "preallocation": "works",
        "overwrite, fdatasync each: conversions": 0, "overwrite, fdatasync each: bios": {"any": true},
        "into unwritten, fdatasync each: conversions": 0, "into unwritten, fdatasync each: bios": {"any": true},
        "into unwritten, fdatasync once: conversions": {"any": true},
        "into unwritten, fdatasync once: bios": {"any": true},
        "buffered into unwritten, fdatasync once: conversions": {"any": true},
        "buffered into unwritten, fdatasync once: bios": {"any": true},
        "append, fdatasync each: conversions": {"any": true}, "append, fdatasync each: bios": {"any": true}}}])",
                   "into unwritten, fdatasync each: conversions is ");
}

}  // namespace
}  // namespace holdfast
