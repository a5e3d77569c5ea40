#include "harness/results/text.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/results/result_examples.h"

namespace holdfast {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(Text, SaysWhatRanWhere) {
    EXPECT_THAT(
        format_text(example_results(), {}),
        StartsWith("run r1 on kernel 6.18.44, 2 CPUs; profile mainline, seed 18446744073709551615\n\naio_append\n"));
}

TEST(Text, HasATableByFamily) {
    EXPECT_THAT(format_text(example_results(), {}), HasSubstr(R"(
aio_append
  at_eof     PASS    xfs 0.21 s
             XFAIL   ext4 0.25 s
                     ext4 waits for an extending direct write (commit 378f32bab371)
  overwrite  FAIL    ext4 1.00 s
                     submission is blocks, expected async

fallocate
  modes      HANG    xfs 30.00 s
                     did not end within 30 s
             CRASH   ext4 2.00 s
                     the kernel warned
             SKIP    btrfs
                     mkfs.btrfs is not installed; the kernel has no btrfs
)"));
}

TEST(Text, SaysOnceWhatIsTheSameOnSeveralFilesystems) {
    auto results = example_results();
    results.cases = {results.cases[1], results.cases[1]};
    results.cases[1].filesystem = "ext3-barrier";
    EXPECT_THAT(format_text(results, {}), HasSubstr("  at_eof  XFAIL   ext4 0.25 s, ext3-barrier 0.25 s\n"
                                                    "                  ext4 waits for an extending direct write"));
}

TEST(Text, HasDetailsOfWhatWentWrong) {
    const auto text = format_text(example_results(), {});
    EXPECT_THAT(text, HasSubstr(R"(
FAIL aio_append.overwrite on ext4
  submission is blocks, expected async
    stack:
      iomap_dio_rw
      aio_write
)"));
    EXPECT_THAT(text, HasSubstr("\nBROKEN fallocate.no_space on ext4\n  no loop device\n"));
    EXPECT_THAT(text, HasSubstr("\n  replay: holdfast run 'aio_append.overwrite/ext4' --seed 7\n"));
    EXPECT_THAT(text, Not(HasSubstr("\nXFAIL aio_append.at_eof on ext4")));
}

TEST(Text, PutsFiguresBesidePublishedOnes) {
    auto results = example_results();
    EXPECT_THAT(format_text(results, {}), Not(HasSubstr("Figures")));
    auto& observations = results.cases.front().observations;
    observations.push_back({{.name = "ratio", .value = 1.5, .evidence = {{"published", 1.8}}}, {}, Verdict::pass});
    observations.push_back({{.name = "reads", .value = 7, .evidence = {{"in_words", "7 reads"}}}, {}, Verdict::pass});
    EXPECT_THAT(format_text(results, {}), HasSubstr("\nFigures\n"
                                                    "  aio_append.at_eof on xfs: ratio is 1.5, published 1.8\n"
                                                    "  aio_append.at_eof on xfs: 7 reads\n"));
}

TEST(Text, KeepsToTheColumns) {
    auto results = example_results();
    results.cases.resize(2);
    for (int i = 0; i < 30; ++i) {
        results.cases.push_back(results.cases[1]);
        results.cases.back().filesystem = "filesystem-" + std::to_string(i);
    }
    std::istringstream lines{format_text(results, {.colours = false, .columns = 80})};
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST(Text, HasColoursOnlyWhereAskedFor) {
    EXPECT_THAT(format_text(example_results(), {}), Not(HasSubstr("\x1b")));
    EXPECT_THAT(format_text(example_results(), {.colours = true}), HasSubstr("\x1b"));
    EXPECT_EQ(format_verdict(Verdict::pass, {}), "PASS");
    EXPECT_EQ(format_verdict(Verdict::pass, {.colours = true}), "\x1b[32mPASS\x1b[0m");
}

TEST(Text, ARunWithoutCasesIsStillReported) {
    auto results = example_results();
    results.cases.clear();
    EXPECT_THAT(format_text(results, {.colours = false, .columns = 0}), HasSubstr("\n0 cases in 34.5 s\n"));
}

TEST(Text, SaysThatARunEndedEarly) {
    EXPECT_THAT(format_text(example_of_early_end(), {}), HasSubstr("\n1 case in 34.5 s: 1 PASS; 2 more did not run\n"));
}

TEST(Summary, NamesTheVerdictsThatWereGiven) {
    VerdictCounts counts;
    counts.add(Verdict::pass, 9);
    counts.add(Verdict::fail);
    EXPECT_EQ(format_summary(counts, 3.44), "10 cases in 3.4 s: 9 PASS, 1 FAIL");
    EXPECT_EQ(format_summary({}, 0), "0 cases in 0.0 s");
}

}  // namespace
}  // namespace holdfast
