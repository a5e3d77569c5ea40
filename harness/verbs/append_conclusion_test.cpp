#include "harness/verbs/append_conclusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr SubmissionCount waited{.submissions = 100, .slept = 100, .complete = 100, .blocked = 100};
constexpr SubmissionCount asynchronous{.submissions = 100, .slept = 1, .complete = 3, .blocked = 1};
constexpr SubmissionCount in_call{.submissions = 100, .slept = 0, .complete = 100, .blocked = 0};

// As root, on ext4, with these counts for append, overwrite, preallocated and pre-truncated; two appends as append.
AppendCheck check_of(const SubmissionCount& append, const SubmissionCount& overwrite,
                     const SubmissionCount& preallocated, const SubmissionCount& truncated) {
    const auto waits_in = append.slept > 50 ? std::optional<std::string>{"iomap_dio_rw"} : std::nullopt;
    return {.mount = MountInfo{.type = "ext4", .source = "/dev/sda1", .device = "8:1", .options = "rw"},
            .block = 4096,
            .sees_stacks = true,
            .ways = {{.way = Way::append, .count = append, .waits_in = waits_in},
                     {.way = Way::overwrite, .count = overwrite},
                     {.way = Way::preallocated, .count = preallocated},
                     {.way = Way::pre_truncated, .count = truncated},
                     {.way = Way::two_appends, .count = append, .overlapped = append.blocked > 50 ? 0U : 90U}}};
}

TEST(AppendConclusion, RecommendsWhatWasMeasuredNotToBlock) {
    const auto both = conclude(check_of(waited, asynchronous, asynchronous, asynchronous));
    EXPECT_TRUE(both.could_tell);
    EXPECT_EQ(both.answer,
              "Appends block here (waits in iomap_dio_rw): 100 of 100 io_submit calls slept (100 had completed when it "
              "returned).");
    EXPECT_THAT(both.advice, AllOf(HasSubstr("fallocate"), HasSubstr("ftruncate")));
    EXPECT_THAT(conclude(check_of(waited, asynchronous, asynchronous, waited)).advice,
                AllOf(HasSubstr("fallocate"), Not(HasSubstr("ftruncate"))));
    EXPECT_THAT(conclude(check_of(waited, asynchronous, in_call, asynchronous)).advice,
                AllOf(Not(HasSubstr("fallocate")), HasSubstr("ftruncate")));
    EXPECT_THAT(conclude(check_of(waited, asynchronous, waited, waited)).advice, HasSubstr("overwriting blocks"));
    EXPECT_THAT(conclude(check_of(waited, waited, waited, waited)).advice, HasSubstr("does not either"));
}

TEST(AppendConclusion, ARefusedWayIsNoRemedy) {
    auto check = check_of(waited, asynchronous, {}, waited);
    check.ways[2].refused = "fallocate: Operation not supported (EOPNOTSUPP)";
    EXPECT_THAT(conclude(check).advice, Not(HasSubstr("To avoid it")));
}

TEST(AppendConclusion, AsynchronousNeedsNoAdvice) {
    auto check = check_of(asynchronous, asynchronous, asynchronous, asynchronous);
    EXPECT_THAT(conclude(check).answer, HasSubstr("do not block here, one in flight: 1 of 100"));
    EXPECT_THAT(conclude(check).advice, IsEmpty());
    EXPECT_THAT(conclude(check).notes, Contains(HasSubstr("Nor do they with two in flight")));
    check.ways[4].count = waited;
    check.ways[4].waits_in = "inode_dio_wait";
    EXPECT_THAT(conclude(check).notes, Contains(HasSubstr("an append waits in inode_dio_wait")));
    check.ways[4].overlapped = 0;
    EXPECT_THAT(conclude(check).notes, Contains(HasSubstr("is not known")));
}

TEST(AppendConclusion, WhatWasCompleteWithoutASleepIsUnclearButInMemory) {
    auto check = check_of(in_call, in_call, in_call, in_call);
    EXPECT_FALSE(conclude(check).could_tell);
    EXPECT_THAT(conclude(check).answer, HasSubstr("Cannot tell"));
    EXPECT_THAT(conclude(check).notes, Contains(HasSubstr("measured, not held")));
    check.mount->type = "tmpfs";
    EXPECT_TRUE(conclude(check).could_tell);
    EXPECT_THAT(conclude(check).answer, HasSubstr("in memory"));
    EXPECT_THAT(conclude(check).notes, IsEmpty());
}

TEST(AppendConclusion, SaysWhatRootWouldAdd) {
    auto check = check_of(waited, asynchronous, asynchronous, asynchronous);
    EXPECT_THAT(conclude(check).notes, Not(Contains(HasSubstr("as root"))));
    check.sees_stacks = false;
    EXPECT_THAT(conclude(check).notes, Contains(HasSubstr("as root")));
    EXPECT_THAT(conclude(check_of(asynchronous, asynchronous, asynchronous, asynchronous)).notes,
                Not(Contains(HasSubstr("as root"))));
}

}  // namespace
}  // namespace holdfast
