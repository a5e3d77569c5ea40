#include "harness/catalogue/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cases/shipped.h"
#include "fixtures/base/failure.h"

namespace holdfast {
namespace {

Catalogue shipped() { return Catalogue::load({shipped_cases(), shipped_expectations()}, {}); }

std::vector<std::string> names(const std::vector<Planned>& plan) {
    std::vector<std::string> result;
    for (const auto& planned : plan) result.push_back(planned.name());
    return result;
}

TEST(Filter, IsGoogleTests) {
    EXPECT_TRUE(matches_filter("*", "a.b/ext4"));
    EXPECT_TRUE(matches_filter("a.*", "a.b/ext4"));
    EXPECT_TRUE(matches_filter("a.?/ext4", "a.b/ext4"));
    EXPECT_TRUE(matches_filter("x:a.b/ext4", "a.b/ext4"));
    EXPECT_FALSE(matches_filter("a.b/xfs", "a.b/ext4"));
    EXPECT_FALSE(matches_filter("*-a.*", "a.b/ext4"));
    EXPECT_FALSE(matches_filter("-*/ext4", "a.b/ext4"));
    EXPECT_TRUE(matches_filter("-*/ext4", "a.b/xfs"));
}

TEST(Filter, ACaseStandsForAllItsFilesystems) {
    EXPECT_TRUE(matches_filter("a.b", "a.b/ext4"));
    EXPECT_FALSE(matches_filter("a.b", "a.bc/ext4"));
}

TEST(Filter, ADashInANameLeavesNothingOut) {
    EXPECT_TRUE(matches_filter("a.b/ext3-barrier", "a.b/ext3-barrier"));
    EXPECT_FALSE(matches_filter("a.b/ext3-barrier", "a.b/ext3-journal"));
    EXPECT_FALSE(matches_filter("a.*-*/ext3-barrier", "a.b/ext3-barrier"));
    EXPECT_TRUE(matches_filter("a.*-*/ext3-barrier", "a.b/ext3-journal"));
    EXPECT_EQ(filter_for_gtest("a.b/ext3-barrier:*/xfs-1k-a.c/ext3-barrier"),
              "a.b/ext3?barrier:*/xfs?1k-a.c/ext3?barrier");
}

TEST(Plan, IsTheDefaultMatrix) {
    const auto catalogue = shipped();
    const auto plan = make_plan(catalogue, {.filter = "aio_append.at_eof"});
    EXPECT_THAT(names(plan), testing::ElementsAre("aio_append.at_eof/ext3-barrier", "aio_append.at_eof/ext4",
                                                  "aio_append.at_eof/xfs"));
}

TEST(Plan, WhatRunsOnlyByNameIsInNoRunOfEverything) {
    const auto catalogue = shipped();
    const auto has_sources = [&](const PlanOptions& options) {
        const auto plan = names(make_plan(catalogue, options));
        return std::ranges::any_of(plan, [](const auto& name) { return name.starts_with("sources."); });
    };
    EXPECT_FALSE(has_sources({}));
    EXPECT_FALSE(has_sources({.filter = "*/xfs"}));
    EXPECT_FALSE(has_sources({.filter = "-fallocate.*"}));
    EXPECT_TRUE(has_sources({.filter = "sources.*"}));
    EXPECT_TRUE(has_sources({.filter = "fallocate.modes:sources.s4*/ext4"}));
    EXPECT_TRUE(has_sources({.every_case = true}));
}

TEST(Plan, FilterMayNameAnyFilesystem) {
    const auto catalogue = shipped();
    EXPECT_THAT(names(make_plan(catalogue, {.filter = "aio_append.at_eof/btrfs"})),
                testing::ElementsAre("aio_append.at_eof/btrfs"));
}

TEST(Plan, AFilesystemNamedTwiceRunsOnce) {
    const auto catalogue = shipped();
    EXPECT_THAT(names(make_plan(catalogue, {.filter = "aio_append.at_eof", .filesystems = {"xfs", "ext4", "xfs"}})),
                testing::ElementsAre("aio_append.at_eof/xfs", "aio_append.at_eof/ext4"));
}

TEST(Plan, ShardsPartitionIt) {
    const auto catalogue = shipped();
    const auto all = names(make_plan(catalogue, {.repeat = 2}));
    std::vector<std::string> parts;
    for (unsigned index = 0; index < 3; ++index)
        for (auto& name : names(make_plan(catalogue, {.repeat = 2, .shard = Shard{index, 3}})))
            parts.push_back(std::move(name));
    EXPECT_THAT(parts, testing::UnorderedElementsAreArray(all));
}

TEST(Plan, RefusesWhatThereIsNot) {
    const auto catalogue = shipped();
    EXPECT_THROW((void)make_plan(catalogue, {.filter = "nothing.*"}), BadInput);
    EXPECT_THROW((void)make_plan(catalogue, {.filesystems = {"ext5"}}), BadInput);
    EXPECT_THROW((void)make_plan(catalogue, {.matrix = "small"}), BadInput);
}

}  // namespace
}  // namespace holdfast
