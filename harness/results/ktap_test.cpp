#include "harness/results/ktap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/results/result_examples.h"

namespace holdfast {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Ktap, HasATestForEachCaseAndASubtestForEachFilesystem) {
    EXPECT_THAT(format_ktap(example_results()), StartsWith(R"(KTAP version 1
1..4
  KTAP version 1
  # Subtest: aio_append.at_eof
  1..2
  ok 1 xfs
  ok 2 ext4 # XFAIL ext4 waits for an extending direct write (commit 378f32bab371)
ok 1 aio_append.at_eof
)"));
}

TEST(Ktap, HasADirectiveForWhatIsNeitherPassNorFail) {
    const auto text = format_ktap(example_results());
    EXPECT_THAT(text, HasSubstr("\n  not ok 1 ext4\nnot ok 2 aio_append.overwrite\n"));
    EXPECT_THAT(text, HasSubstr("\n  not ok 2 xfs # TIMEOUT did not end within 30 s\n"));
    EXPECT_THAT(text, HasSubstr("\n  ok 3 btrfs # SKIP mkfs.btrfs is not installed; the kernel has no btrfs\n"));
    EXPECT_THAT(text, HasSubstr("\n  not ok 1 ext4 # ERROR no loop device\n"));
    EXPECT_THAT(text,
                HasSubstr("\n  # fallocate.no_space on xfs: XPASS free is true, better than: it leaks (commit 1)\n"
                          "  ok 2 xfs\nnot ok 4 fallocate.no_space\n"));
}

TEST(Ktap, DiagnosticsStandBeforeTheirTest) {
    EXPECT_THAT(format_ktap(example_results()), HasSubstr(R"(
  # fallocate.modes on ext4: CRASH the kernel warned
  #   fsck:
  #     e2fsck -fn image
)"));
}

TEST(Ktap, NoHashInTestLinesButTheDirectives) {
    auto results = example_results();
    results.cases.resize(2);
    results.cases[1].reason = "see #1\nand #2";
    EXPECT_THAT(format_ktap(results), HasSubstr("  ok 2 ext4 # XFAIL see  1 and  2\n"));
}

TEST(Ktap, ACaseIsSkippedWhereAllItsFilesystemsAre) {
    auto results = example_results();
    results.cases = {results.cases[5]};
    EXPECT_THAT(format_ktap(results), HasSubstr("\nok 1 fallocate.modes # SKIP\n"));
    results.cases.clear();
    EXPECT_EQ(format_ktap(results), "KTAP version 1\n1..0\n");
}

TEST(Ktap, WhatDidNotRunIsNotOk) {
    EXPECT_EQ(format_ktap(example_of_early_end()), R"(KTAP version 1
1..2
  KTAP version 1
  # Subtest: aio_append.at_eof
  1..2
  ok 1 xfs
  # aio_append.at_eof on ext4: BROKEN did not run: the run was ended early by SIGINT
  not ok 2 ext4 # ERROR did not run: the run was ended early by SIGINT
not ok 1 aio_append.at_eof
  KTAP version 1
  # Subtest: fallocate.modes
  1..1
  # fallocate.modes on ext4: BROKEN did not run: the run was ended early by SIGINT
  not ok 1 ext4 # ERROR did not run: the run was ended early by SIGINT
not ok 2 fallocate.modes
)");
}

}  // namespace
}  // namespace holdfast
