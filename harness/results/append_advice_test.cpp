#include "harness/results/append_advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::Not;

CaseResult seen(const std::string& name, const std::string& filesystem, const std::string& submission,
                const std::string& where = "") {
    CaseResult result{.name = "aio_append." + name, .filesystem = filesystem, .disk = "held", .verdict = Verdict::pass};
    result.observations.push_back({{.name = "submission", .value = submission}, "async", Verdict::pass});
    if (!where.empty()) result.observations.push_back({{.name = "where", .value = where}, nullptr, Verdict::pass});
    return result;
}

TEST(AppendAdvice, NamesOnlyRemediesThatWereFoundNotToBlock) {
    const auto advices =
        advise_on_appends({seen("at_eof", "ext4", "blocks", "iomap_dio_rw"), seen("unwritten", "ext4", "async"),
                           seen("pre_truncate", "ext4", "blocks")});
    ASSERT_EQ(advices.size(), 1U);
    EXPECT_EQ(
        advices[0].advice,
        "block (waits in iomap_dio_rw). To avoid it: preallocate with fallocate and write below the end of file.");
}

TEST(AppendAdvice, SaysWhereNoRemedyHelps) {
    const auto advices =
        advise_on_appends({seen("at_eof", "btrfs", "blocks", "folio_wait_writeback"),
                           seen("unwritten", "btrfs", "blocks"), seen("overwrite", "btrfs", "blocks")});
    ASSERT_EQ(advices.size(), 1U);
    EXPECT_EQ(advices[0].advice, "block (waits in folio_wait_writeback). Nothing that was tried avoids it.");
}

TEST(AppendAdvice, OneAtATimeWhereTheSecondWaits) {
    const auto advices =
        advise_on_appends({seen("at_eof", "xfs", "async"), seen("second_append", "xfs", "blocks", "inode_dio_wait")});
    ASSERT_EQ(advices.size(), 1U);
    EXPECT_THAT(advices[0].advice,
                HasSubstr("waits for the one in flight (waits in inode_dio_wait). To avoid it: keep"));
}

TEST(AppendAdvice, FilesystemsThatBehaveAlikeAreTogether) {
    const auto advices = advise_on_appends({seen("at_eof", "a", "blocks"), seen("at_eof", "b", "async"),
                                            seen("at_eof", "c", "blocks"), seen("overwrite", "d", "async")});
    EXPECT_THAT(advices, ElementsAre(Field(&AppendAdvice::filesystems, ElementsAre("a", "c")),
                                     Field(&AppendAdvice::filesystems, ElementsAre("b"))));
}

TEST(AppendAdvice, WhatIsBufferedIsNotCalledAsynchronous) {
    auto result = seen("at_eof", "ext4-journal", "async");
    result.observations.push_back({{.name = "completed_while_held", .value = true}, false, Verdict::xfail});
    EXPECT_THAT(advise_on_appends({result}).at(0).advice, HasSubstr("are buffered"));
}

TEST(AppendAdvice, NothingWhereNobodyAsked) {
    EXPECT_TRUE(advise_on_appends({seen("overwrite", "xfs", "async")}).empty());
}

}  // namespace
}  // namespace holdfast
