// The program from the outside: what it leaves behind, how it ends, what it says to bad input.
#include <array>
#include <csignal>
#include <fstream>
#include <random>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fixtures/base/child_process.h"
#include "fixtures/base/failure.h"
#include "fixtures/base/mount.h"
#include "fixtures/probe/kernel_version.h"
#include "fixtures/probe/requirement.h"
#include "harness/results/result_file.h"
#include "harness/testing/left_behind.h"
#include "harness/testing/program.h"

namespace holdfast {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Marks all that the tests start, before they start anything.
class Mark : public testing::Environment {
 public:
    void SetUp() override { ::setenv(mark_variable, std::to_string(::getpid()).c_str(), 1); }
};
const auto* const mark = testing::AddGlobalTestEnvironment(new Mark);

TEST(Planted, StaleByteIsFail) {
    const auto result = planted("stale_byte");
    EXPECT_EQ(result.verdict, Verdict::fail) << result.reason;
    EXPECT_THAT(result.to_json().dump(), HasSubstr("poison of sector"));
}

TEST(Planted, WrongErrnoIsFail) {
    const auto result = planted("wrong_errno");
    EXPECT_EQ(result.verdict, Verdict::fail) << result.reason;
    EXPECT_THAT(result.reason, HasSubstr("expected"));
}

TEST(Planted, HungCaseIsHangWithItsStacks) {
    const auto result = planted("hang");
    EXPECT_EQ(result.verdict, Verdict::hang) << result.reason;
    EXPECT_THAT(result.reason, HasSubstr("running the case"));
    EXPECT_FALSE(result.evidence.at("stacks").empty());
}

TEST(Planted, ACaseThatHangsInTheKernelIsHang) {
    const auto result = planted("hang_in_kernel");
    EXPECT_EQ(result.verdict, Verdict::hang) << result.reason;
}

TEST(Planted, LostByteIsFail) {
    const auto result = planted("lost_byte");
    EXPECT_EQ(result.verdict, Verdict::fail) << result.reason;
}

TEST(Planted, CrashingCaseIsFailWithTheSignal) {
    const auto result = planted("crash");
    EXPECT_EQ(result.verdict, Verdict::fail) << result.reason;
    EXPECT_THAT(result.reason, HasSubstr("SIGSEGV"));
}

TEST(Planted, AWriteIntoThePreallocationThatGetsNoSpaceIsFail) {
    const auto result = planted("broken_promise");
    EXPECT_EQ(result.verdict, Verdict::fail) << result.reason;
    EXPECT_THAT(result.reason, HasSubstr("direct writes into the preallocation is ENOSPC, expected works"));
}

// Every case that was played saw it.
void expect_all_fail(const CaseResult& result, std::size_t cases) {
    EXPECT_EQ(result.observations.size(), cases) << result.reason;
    for (const auto& judged : result.observations)
        EXPECT_EQ(judged.verdict, Verdict::fail) << judged.observation.to_json().dump();
}

TEST(Planted, HolesThatAreNotPunchedAreSeenByEveryCase) {
    if (const auto missing = find_missing(Requirement{"feature", "fuse"})) GTEST_SKIP() << missing->what;
    expect_all_fail(planted("ignored_punch"), 11);
}

TEST(Planted, BlocksThatAreNotAllocatedAreSeenByEveryCase) {
    if (const auto missing = find_missing(Requirement{"feature", "fuse"})) GTEST_SKIP() << missing->what;
    expect_all_fail(planted("ignored_allocation"), 3);
}

TEST(Planted, LeakedBlocksAndLostAppendsAreSeen) { expect_all_fail(planted("leaked_blocks"), 2); }

TEST(Planted, APreallocationThatConvertsNothingIsFail) {
    if (const auto missing = find_missing(Requirement{"feature", "tracepoints"})) GTEST_SKIP() << missing->what;
    const auto result = planted("nothing_to_convert");
    EXPECT_EQ(result.verdict, Verdict::fail) << result.reason;
    EXPECT_THAT(result.reason, HasSubstr("into unwritten, fdatasync each: conversions is 0"));
}

TEST(Planted, AMissingFlushIsFail) {
    if (const auto missing = find_missing(Requirement{"feature", "tracepoints"})) GTEST_SKIP() << missing->what;
    const auto result = planted("missing_flush");
    EXPECT_EQ(result.verdict, Verdict::fail) << result.reason;
    EXPECT_THAT(result.reason, HasSubstr("overwrite, fdatasync each: flushes is 0"));
    EXPECT_THAT(result.reason, HasSubstr("overwrite, O_DSYNC: flushes is 0"));
}

TEST(Planted, ATornSectorIsToldFromAStaleOne) {
    const auto result = planted("torn_sector");
    EXPECT_EQ(result.verdict, Verdict::fail) << result.reason;
    const auto text = nlohmann::json(result.observations.at(0).observation.to_json()).dump();
    EXPECT_THAT(text, HasSubstr("data of file 1 (generation 1) at offset 40960, then"));
    EXPECT_THAT(text, HasSubstr("from byte 256 on"));
}

TEST(Planted, ADiskThatDropsDataIsSeenByEveryCase) {
    if (const auto missing = find_missing(Requirement{"feature", "fuse"})) GTEST_SKIP() << missing->what;
    expect_all_fail(planted("dropped_write"), 4);
}

TEST(Planted, ADiskThatIgnoresFlushesIsSeenByEveryCase) {
    if (const auto missing = find_missing(Requirement{"feature", "fuse"})) GTEST_SKIP() << missing->what;
    expect_all_fail(planted("dropped_flush"), 4);
}

TEST(Planted, WithoutStacksAnAppendIsJudgedAllTheSameAndTheResultSaysSo) {
    if (const auto missing = find_missing(Requirement{"feature", "fuse"})) GTEST_SKIP() << missing->what;
    const auto result = planted("hidden_stacks");
    EXPECT_EQ(result.verdict, Verdict::xfail) << result.reason;
    const auto text = result.to_json().dump();
    EXPECT_THAT(text, AllOf(HasSubstr("stack_missing"), Not(HasSubstr("\"stack\":"))));
    // As long as /proc/PID/wchan tells it.
    EXPECT_THAT(text, HasSubstr("iomap_dio_rw"));
}

TEST(Planted, APublishedWorkloadWithoutPreallocationIsFail) {
    if (const auto missing = find_missing(Requirement{"feature", "fuse"})) GTEST_SKIP() << missing->what;
    if (const auto missing = find_missing(Requirement{"feature", "tracepoints"})) GTEST_SKIP() << missing->what;
    expect_all_fail(planted("no_preallocation"), 4);
}

TEST(Planted, APublishedWorkloadOnAnotherDeviceIsFail) {
    if (const auto missing = find_missing(Requirement{"feature", "fuse"})) GTEST_SKIP() << missing->what;
    if (const auto missing = find_missing(Requirement{"feature", "tracepoints"})) GTEST_SKIP() << missing->what;
    expect_all_fail(planted("other_device"), 3);
}

TEST(Planted, HolesThatAreFilledInSmallPiecesAreSeen) {
    if (const auto missing = find_missing(Requirement{"feature", "fuse"})) GTEST_SKIP() << missing->what;
    expect_all_fail(planted("small_pieces"), 1);
}

TEST(Planted, ASizeThatMovesBeforeTheDataIsSeen) {
    if (const auto missing = find_missing(Requirement{"feature", "fuse"})) GTEST_SKIP() << missing->what;
    const auto result = planted("early_size");
    expect_all_fail(result, 1);
    EXPECT_THAT(result.reason, HasSubstr("is moved, expected as before"));
}

TEST(Planted, ASizeThatIsDurableBeforeTheDataIsSeenByEveryCase) {
    if (const auto missing = find_missing(Requirement{"feature", "fuse"})) GTEST_SKIP() << missing->what;
    expect_all_fail(planted("early_durable_size"), 3);
}

// XFS alone has atomic writes on every disk.
TEST(Planted, AKernelThatForgetsTheFlagsOfAWriteIsSeenByEveryCase) {
    if (const auto missing = find_missing(Requirement{"feature", "fuse"})) GTEST_SKIP() << missing->what;
    if (KernelVersion::running() < KernelVersion{6, 16, 0}) GTEST_SKIP() << "XFS has no atomic writes of its own";
    expect_all_fail(planted("forgotten_flags", "xfs"), 4);
}

TEST(Planted, DamagedFilesystemIsCrash) {
    const auto result = planted("damage");
    EXPECT_EQ(result.verdict, Verdict::crash) << result.reason;
    EXPECT_THAT(result.evidence.at("fsck").at("command").get<std::string>(), HasSubstr("e2fsck"));
}

// On one filesystem: ci/container/test runs the default matrix.
TEST(Run, OfAllCasesLeavesNothingBehind) {
    const Scratch scratch;
    const auto before = Traces::now();
    const auto file = scratch / "results.json";
    const Descriptor output{::memfd_create("output", MFD_CLOEXEC)};
    auto child = ChildProcess::start({.program = HOLDFAST,
                                      .arguments = {"run", "--filesystem", "ext4", "--jobs", "2", "--results", file},
                                      .output = output.get()});
    EXPECT_EQ(child.wait().status, 0);
    // What a test before this one has left to the kernel may have gone meanwhile.
    EXPECT_EQ(Traces::now().since(before), "");
    const auto results = read_result_file(file);
    EXPECT_GE(results.cases.size(), 90U);
    for (const auto& result : results.cases)
        EXPECT_FALSE(blames_kernel(result.verdict) || result.verdict == Verdict::broken)
            << result.name << "/" << result.filesystem << ": " << result.reason;
}

class KilledRun : public testing::TestWithParam<int> {};

// At twenty random moments, cases running, two at once, of those families in turn whose disks hold writes.
TEST_P(KilledRun, LeavesNothingBehindAndAReadableFile) {
    const Scratch scratch;
    const auto file = scratch / "results.json";
    const auto before = Traces::now();
    std::random_device random;
    std::uniform_int_distribution<int> delay{0, 2500};
    constexpr std::array filters{"*", "stale_data.*_window", "stale_data.crash_*", "aio_append.*"};
    for (int moment = 0; moment < 20; ++moment) {
        const int milliseconds = delay(random);
        const Descriptor output{::memfd_create("output", MFD_CLOEXEC)};
        auto child =
            ChildProcess::start({.program = HOLDFAST,
                                 .arguments = {"run", filters.at(static_cast<std::size_t>(moment) % filters.size()),
                                               "--jobs", "2", "--results", file.string()},
                                 .output = output.get()});
        if (!child.wait_for(std::chrono::milliseconds{milliseconds})) ::kill(child.id(), GetParam());
        // What is killed must not wait for a disk that waits for it: the bound of a hold is far behind this one.
        ASSERT_TRUE(child.wait_for(std::chrono::seconds{5})) << milliseconds << " ms";
        const auto ending = child.wait();
        // A signal that comes before the run has taken over its handling ends the program as it ends any other.
        const bool killed = ending.signal == GetParam();
        const bool ended_early = GetParam() != SIGKILL && ending.status == 128 + GetParam();
        EXPECT_TRUE(killed || ended_early || ending.status == 0) << milliseconds << " ms: " << ending.describe();
        EXPECT_TRUE(gone_within(before, 5)) << milliseconds << " ms: " << Traces::now().since(before);
        if (std::filesystem::exists(file)) {
            EXPECT_NO_THROW((void)read_result_file(file));
        }
        std::filesystem::remove(file);
    }
}

INSTANTIATE_TEST_SUITE_P(By, KilledRun, testing::Values(SIGINT, SIGTERM, SIGKILL),
                         [](const auto& info) { return std::string{"SIG"} + sigabbrev_np(info.param); });

TEST(BadInput, NamesFileLineAndField) {
    const Scratch scratch;
    const auto recipe =
        scratch.write("mine.json", "{\n  \"name\": \"mine\",\n  \"describes\": \"x\",\n  \"type\": \"ext5\"\n}\n");
    const auto run = holdfast({"run", "--recipe", recipe.string()});
    EXPECT_EQ(run.ending.status, 2);
    EXPECT_THAT(run.output, AllOf(HasSubstr("mine.json:4"), HasSubstr("type"), HasSubstr("ext3, ext4, xfs, btrfs")));
}

TEST(BadInput, NamesWhatThereIs) {
    for (const auto& arguments : std::vector<std::vector<std::string>>{{"run", "--filesystem", "ext5"},
                                                                       {"run", "nothing.at_all"},
                                                                       {"run", "--profile", "mine"},
                                                                       {"explain", "x"},
                                                                       {"run", "--results", "/nonexistent/file.json"},
                                                                       {"run", "--jobs", "0"},
                                                                       {"run", "--format", "xml"},
                                                                       {"walk"},
                                                                       {}}) {
        const auto run = holdfast(arguments);
        EXPECT_EQ(run.ending.status, 2) << format_command("holdfast", arguments) << "\n" << run.output;
        EXPECT_FALSE(run.output.empty());
    }
}

TEST(WithoutRoot, WhatOnlyLooksWorks) {
    for (const auto& arguments : std::vector<std::vector<std::string>>{{"list"},
                                                                       {"explain", "aio_append.at_eof"},
                                                                       {"doctor"},
                                                                       {"--help"},
                                                                       {"run", "--help"},
                                                                       {"--gtest_list_tests"},
                                                                       {"clean", "--dry-run"}}) {
        const auto run = as_nobody(arguments);
        EXPECT_EQ(run.ending.status, 0) << format_command("holdfast", arguments) << "\n" << run.output;
    }
}

TEST(WithoutRoot, BothFacesSayInOneLineWhatIsMissing) {
    for (const auto& arguments :
         std::vector<std::vector<std::string>>{{"run", "--results", "/dev/null"}, {"--gtest_filter=*/ext4"}}) {
        const auto run = as_nobody(arguments);
        EXPECT_EQ(run.ending.status, 3) << run.output;
        EXPECT_THAT(run.output, HasSubstr("CAP_SYS_ADMIN"));
        EXPECT_EQ(std::count(run.output.begin(), run.output.end(), '\n'), 1) << run.output;
    }
}

TEST(Missing, MkfsIsSkip) {
    enter_private_namespace();
    const Mount hidden{"/dev/null", *find_tool("mkfs.xfs"), "none", "bind"};
    const auto result = run_one("fallocate.modes", "xfs");
    EXPECT_EQ(result.verdict, Verdict::skip);
    EXPECT_THAT(result.reason, AllOf(HasSubstr("mkfs.xfs"), HasSubstr("xfsprogs")));
}

TEST(Missing, LoopControlIsBroken) {
    enter_private_namespace();
    const Mount hidden{"/dev/null", "/dev/loop-control", "none", "bind"};
    const auto result = run_one("fallocate.modes", "ext4");
    EXPECT_EQ(result.verdict, Verdict::broken);
    EXPECT_THAT(result.reason, HasSubstr("loop"));
}

TEST(Missing, WithoutFuseTheWritesOfAFileAreHeld) {
    enter_private_namespace();
    const Mount hidden{"/dev/null", "/dev/fuse", "none", "bind"};
    const auto append = run_one("aio_append.at_eof", "ext4");
    EXPECT_EQ(append.disk, "file");
    EXPECT_EQ(append.verdict, Verdict::xfail) << append.reason;
    EXPECT_EQ(run_one("aio_append.second_append", "xfs").verdict, Verdict::xfail);
    const auto overwrite = run_one("aio_append.dsync_overwrite", "ext4");
    EXPECT_EQ(overwrite.verdict, Verdict::skip) << overwrite.reason;
    EXPECT_THAT(overwrite.reason, AllOf(HasSubstr("power cut"), HasSubstr("/dev/fuse")));
    EXPECT_THAT(overwrite.to_json().dump(), HasSubstr("submission"));
    const auto cold = run_one("aio_append.cold_append", "ext4");
    EXPECT_EQ(cold.verdict, Verdict::skip);
    EXPECT_THAT(cold.reason, HasSubstr("/dev/fuse"));
}

TEST(Appends, FailWhereTheExpectationSaysTheOpposite) {
    const Scratch scratch;
    const auto expectations = scratch.write("opposite.json", R"([
        {"case": "aio_append.at_eof", "contract": {"submission": "blocks"}},
        {"case": "aio_append.overwrite", "contract": {"submission": "async", "nowait": "EAGAIN"}},
        {"case": "aio_append.dsync_append", "contract": {"submission": "async", "durable": "no"}}])");
    const auto file = scratch / "results.json";
    holdfast({"run", "aio_append.at_eof:aio_append.overwrite:aio_append.dsync_append", "--filesystem", "xfs",
              "--expectations", expectations.string(), "--results", file.string()});
    const auto results = read_result_file(file);
    ASSERT_EQ(results.cases.size(), 3U);
    for (const auto& result : results.cases) EXPECT_EQ(result.verdict, Verdict::fail) << result.name;
}

TEST(Missing, ACapabilityIsSkip) {
    const Scratch scratch;
    const auto file = scratch / "results.json";
    run_tool("setpriv", {"--bounding-set=-linux_immutable", "--inh-caps=-linux_immutable", HOLDFAST, "run",
                         "fallocate.errors/ext4", "--results", file.string()});
    const auto result = read_result_file(file).cases.at(0);
    EXPECT_EQ(result.verdict, Verdict::skip);
    EXPECT_THAT(result.reason, HasSubstr("CAP_LINUX_IMMUTABLE"));
}

TEST(Missing, SpaceIsSkipBeforeAnythingIsMade) {
    const Scratch scratch;
    const auto recipe = scratch.write(
        "huge.json",
        R"({"name": "ext4-huge", "describes": "x", "type": "ext4", "size": "16T", "mkfs": ["-i", "1024"]})");
    const auto file = scratch / "results.json";
    const auto run = holdfast({"run", "--recipe", recipe.string(), "fallocate.errors:fallocate.modes", "--results",
                               file.string(), "--timeout", "600"});
    EXPECT_EQ(run.ending.status, 3) << run.output;
    const auto results = read_result_file(file);
    ASSERT_EQ(results.cases.size(), 2U);
    for (const auto& result : results.cases) {
        EXPECT_EQ(result.verdict, Verdict::skip) << result.name;
        EXPECT_THAT(result.reason, AllOf(HasSubstr("no space for ext4-huge"), HasSubstr("are there")));
    }
}

// The mount fails before the case begins.
TEST(Missing, ARecipeThatCannotBeMountedIsBroken) {
    const Scratch scratch;
    const auto recipe = scratch.write(
        "bad.json",
        R"({"name": "ext4-bad", "describes": "x", "type": "ext4", "size": "64M", "mount": ["no_such_option"]})");
    const auto file = scratch / "results.json";
    holdfast({"run", "--recipe", recipe.string(), "fallocate.errors", "--results", file.string()});
    const auto result = read_result_file(file).cases.at(0);
    EXPECT_EQ(result.verdict, Verdict::broken);
    EXPECT_THAT(result.reason, AllOf(HasSubstr("no_such_option"), HasSubstr("making and mounting the filesystem")));
}

TEST(GoogleTestFace, ListsAndRunsACaseOnAFilesystem) {
    EXPECT_THAT(holdfast({"--gtest_list_tests"}).output, AllOf(HasSubstr("aio_append."), HasSubstr("  at_eof/ext4")));
    const auto run = holdfast({"--gtest_filter=fallocate.modes/ext4:aio_append.at_eof/ext4", "--gtest_repeat=2"});
    EXPECT_EQ(run.ending.status, 0) << run.output;
    EXPECT_THAT(run.output, AllOf(HasSubstr("2 tests"), HasSubstr("XFAIL"), Not(HasSubstr("FAILED"))));
}

TEST(GoogleTestFace, FailsWhereTheVerdictIsFail) {
    const auto run = run_tool(HOLDFAST_PLANTED, {"--gtest_filter=planted.stale_byte/ext4"});
    EXPECT_EQ(run.ending.status, 1) << run.output;
}

TEST(Repeat, RunsEverythingSoManyTimes) {
    const Scratch scratch;
    const auto file = scratch / "results.json";
    holdfast(
        {"run", "fallocate.modes", "--filesystem", "ext4", "--repeat", "3", "--jobs", "2", "--results", file.string()});
    const auto results = read_result_file(file);
    ASSERT_EQ(results.cases.size(), 3U);
    EXPECT_EQ(results.cases[2].repetition, 3U);
}

}  // namespace
}  // namespace holdfast
