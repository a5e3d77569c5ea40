#include "harness/results/details.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/results/result_examples.h"

namespace holdfast {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(Details, HaveObservationEvidenceAndTheCommand) {
    EXPECT_THAT(describe_details(example_results().cases[2]),
                ElementsAre("submission is blocks, expected async", "  stack:", "    iomap_dio_rw", "    aio_write",
                            "time is 1.5 ms", "end of output:", "  one <line> & \"another\"", "  ?[0m\xEF\xBF\xBD#",
                            "replay: holdfast run 'aio_append.overwrite/ext4' --seed 7"));
}

TEST(Details, HaveWhatBacksTheVerdictItself) {
    EXPECT_THAT(describe_details(example_results().cases[3]),
                ElementsAre("fsck:", "  e2fsck -fn image", "  Inode 12 is damaged",
                            "kernel log:", "  WARNING: CPU: 1 PID: 7 at fs/ext4/inode.c:1 # ext4", "  Call Trace:"));
    EXPECT_THAT(describe_details(example_results().cases[4]),
                ElementsAre("threads:", "  7 holdfast:", "    folio_wait_bit", "    xfs_ilock"));
}

TEST(Details, NumbersStayOnOneLine) {
    CaseResult result{.name = "a.b", .filesystem = "ext4", .disk = "file", .verdict = Verdict::fail};
    result.observations = {{{.name = "writes", .value = 3, .unit = "writes", .samples = {1, 2}}, 2, Verdict::fail}};
    EXPECT_THAT(describe_details(result), ElementsAre("writes is 3 writes, expected 2", "  samples: [1,2]"));
}

TEST(Details, StepsForReplayAreLeftToTheResultFile) {
    CaseResult result{.name = "a.b", .filesystem = "ext4", .disk = "held", .verdict = Verdict::fail};
    result.observations = {
        {{.name = "stale", .value = 1, .evidence = {{"replay", {{"steps", {1, 2}}}}}}, 0, Verdict::fail}};
    EXPECT_THAT(describe_details(result),
                ElementsAre("stale is 1, expected 0",
                            "  to carry out these steps again: holdfast replay FILE (the result file)"));
}

TEST(Details, OfALongLogTheEndIsShown) {
    CaseResult result{.name = "a.b", .filesystem = "ext4", .disk = "file", .verdict = Verdict::crash};
    for (int i = 0; i < 100; ++i) result.kernel_log.push_back("line " + std::to_string(i));
    const auto lines = describe_details(result);
    EXPECT_THAT(lines, Contains("  (40 lines before these)"));
    EXPECT_THAT(lines, Contains("  line 99"));
    EXPECT_THAT(lines, Not(Contains("  line 39")));
}

TEST(Printable, LeavesNothingThatATerminalObeys) {
    EXPECT_EQ(printable("a\tb\nc\x1b[31m\x7f"), "a b c?[31m?");
    EXPECT_EQ(printable("\xff\xc3\xa9"), "\xEF\xBF\xBD\xc3\xa9");
    EXPECT_EQ(printable(std::string_view{"\0x", 2}), "?x");
}

TEST(Details, ARepetitionIsNamed) {
    CaseResult result{.name = "a.b", .filesystem = "ext4", .disk = "file"};
    EXPECT_EQ(describe_filesystem(result), "ext4");
    result.repetition = 2;
    EXPECT_EQ(describe_filesystem(result), "ext4 (2)");
}

}  // namespace
}  // namespace holdfast
