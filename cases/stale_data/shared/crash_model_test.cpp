#include "cases/stale_data/shared/crash_model.h"

#include <algorithm>
#include <span>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/pattern/sector.h"

namespace holdfast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t block = 4096;

std::vector<std::byte> data(std::uint32_t generation, Range range) {
    std::vector<std::byte> bytes(range.length());
    fill_data(bytes, {1, generation}, range.begin);
    return bytes;
}

Findings judge(const CrashModel& model, const std::vector<std::byte>& content) {
    Findings findings;
    model.judge(content, content.size(), "cut", findings);
    return findings;
}

TEST(CrashModel, WhatWasNotPromisedMayBeThereOrNot) {
    CrashModel model{1};
    model.may_write({0, block}, 1);
    EXPECT_TRUE(judge(model, {}).none());
    EXPECT_TRUE(judge(model, data(1, {0, block})).none());
    EXPECT_TRUE(judge(model, std::vector<std::byte>(block)).none());
    auto torn = data(1, {0, block});
    std::fill(torn.begin() + sector_size, torn.begin() + 2 * sector_size, std::byte{0});
    EXPECT_TRUE(judge(model, torn).none());
}

TEST(CrashModel, WhatWasPromisedMustBeThere) {
    CrashModel model{1};
    model.may_write({0, block}, 1);
    model.promise();
    EXPECT_TRUE(judge(model, data(1, {0, block})).none());
    EXPECT_EQ(judge(model, std::vector<std::byte>(block)).lost(), block / sector_size);
    EXPECT_EQ(judge(model, {}).lost(), 1U);
    model.may_write({0, block}, 2);
    EXPECT_TRUE(judge(model, data(2, {0, block})).none());
    EXPECT_TRUE(judge(model, data(1, {0, block})).none());
    model.promise();
    EXPECT_EQ(judge(model, data(1, {0, block})).lost(), block / sector_size);
}

TEST(CrashModel, PoisonAndTheDataOfOthersAreStale) {
    CrashModel model{1};
    model.may_write({0, block}, 1);
    std::vector<std::byte> poison(block);
    fill_poison(poison, 7);
    EXPECT_EQ(judge(model, poison).stale(), block / sector_size);
    std::vector<std::byte> other(block);
    fill_data(other, {2, 1}, 0);
    EXPECT_THAT(judge(model, other).stale_sentences().front(), HasSubstr("data of file 2"));
    EXPECT_EQ(judge(model, data(1, {block, 2 * block})).stale(), block / sector_size) << "of another offset";
}

TEST(CrashModel, WhatWasCutOffMayShowUntilThatIsPromised) {
    CrashModel model{1};
    model.may_write({0, 2 * block}, 1);
    model.promise();
    model.may_resize(block);
    EXPECT_TRUE(judge(model, data(1, {0, 2 * block})).none());
    EXPECT_TRUE(judge(model, data(1, {0, block})).none());
    model.promise();
    EXPECT_EQ(judge(model, data(1, {0, 2 * block})).stale(), 1U) << "the size alone";
    model.may_resize(2 * block);
    EXPECT_EQ(judge(model, data(1, {0, 2 * block})).lost(), block / sector_size);
}

TEST(CrashModel, WhatWasCutOffForCertainShowsNoMore) {
    CrashModel model{1};
    model.may_write({0, 2 * block}, 1);
    model.promise();
    model.did_resize(block);
    model.may_resize(3 * block);
    auto content = data(1, {0, block});
    content.resize(3 * block);
    EXPECT_TRUE(judge(model, content).none());
    const auto behind = data(1, {block, 2 * block});
    std::ranges::copy(behind, content.begin() + block);
    EXPECT_EQ(judge(model, content).lost(), block / sector_size);
}

TEST(CrashModel, BehindTheEndOfFileMayShowWhatWasWrittenThereLast) {
    CrashModel model{1};
    model.may_write({0, block}, 1);
    model.promise();
    model.may_write({block, 2 * block}, 2);
    const auto stale_behind = [&](const std::vector<std::byte>& content) {
        Findings findings;
        model.judge_behind(content, block, "cut", findings);
        return findings.stale();
    };
    EXPECT_EQ(stale_behind(std::vector<std::byte>(block)), 0U);
    EXPECT_EQ(stale_behind(data(2, {block, 2 * block})), 0U);
    EXPECT_EQ(stale_behind(data(1, {block, 2 * block})), 1U);
    EXPECT_EQ(stale_behind(data(2, {2 * block, 3 * block})), 1U);
}

std::vector<std::byte> operator+(std::vector<std::byte> first, const std::vector<std::byte>& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

TEST(CrashModel, ACollapsedRangeIsGoneOnceThatIsPromised) {
    CrashModel model{1};
    model.may_write({0, 3 * block}, 1);
    model.promise();
    model.may_collapse({block, 2 * block});
    const auto shifted = data(1, {0, block}) + data(1, {2 * block, 3 * block});
    EXPECT_TRUE(judge(model, data(1, {0, 3 * block})).none());
    EXPECT_TRUE(judge(model, shifted).none());
    model.promise();
    EXPECT_TRUE(judge(model, shifted).none());
    EXPECT_FALSE(judge(model, data(1, {0, 2 * block})).none());
}

TEST(CrashModel, AnInsertedRangeIsZerosAndShiftsWhatIsBehind) {
    CrashModel model{1};
    model.may_write({0, 2 * block}, 1);
    model.promise();
    model.may_insert({block, 2 * block});
    model.promise();
    EXPECT_TRUE(judge(model, data(1, {0, block}) + std::vector<std::byte>(block) + data(1, {block, 2 * block})).none());
    EXPECT_FALSE(judge(model, data(1, {0, 2 * block}) + std::vector<std::byte>(block)).none());
}

TEST(CrashModel, ACloneHoldsItsSourcesData) {
    CrashModel source{2};
    source.may_write({0, block}, 1);
    source.promise();
    CrashModel model{1};
    model.may_become(source);
    model.promise();
    std::vector<std::byte> other(block);
    fill_data(other, {2, 1}, 0);
    EXPECT_TRUE(judge(model, other).none());
    EXPECT_EQ(judge(model, data(1, {0, block})).lost(), block / sector_size);
}

TEST(CrashModel, ACopyMayBeThereWithTheDataOfTheOther) {
    CrashModel source{1};
    source.may_write({0, block}, 1);
    source.promise();
    CrashModel model{2};
    model.may_copy(source, {0, block}, 0);
    EXPECT_TRUE(judge(model, {}).none());
    EXPECT_TRUE(judge(model, data(1, {0, block})).none());
    model.promise();
    EXPECT_EQ(judge(model, std::vector<std::byte>(block)).lost(), block / sector_size);
    EXPECT_TRUE(judge(model, data(1, {0, block})).none());
}

TEST(CrashModel, WhatWasFoundIsWhatASyncPromises) {
    CrashModel model{1};
    model.may_write({0, block}, 1);
    model.promise();
    model.may_write({0, 2 * block}, 2);
    model.found(data(1, {0, block}));  // the second write has failed
    EXPECT_TRUE(judge(model, data(2, {0, 2 * block})).none()) << "not synced yet";
    model.promise();
    EXPECT_TRUE(judge(model, data(1, {0, block})).none());
    EXPECT_FALSE(judge(model, data(2, {0, block})).none());
    EXPECT_FALSE(judge(model, data(2, {0, 2 * block})).none());
}

TEST(CrashModel, AWriteAfterACollapseThatIsLostShowsWhereItsBlocksAre) {
    CrashModel model{1};
    model.may_write({0, 3 * block}, 1);
    model.promise();
    model.may_collapse({0, block});
    model.may_write({0, block}, 2);
    auto lost = data(1, {0, 3 * block});
    const auto moved = data(2, {0, block});
    std::ranges::copy(moved, lost.begin() + block);
    EXPECT_TRUE(judge(model, lost).none());
    std::ranges::copy(moved, lost.begin() + 2 * block);
    EXPECT_EQ(judge(model, lost).stale(), block / sector_size) << "nothing was written to that block";
    model.promise();
    EXPECT_FALSE(judge(model, lost).none());
}

TEST(CrashModel, AWriteIntoAnInsertedRangeHasBlocksOfItsOwn) {
    CrashModel model{1};
    model.may_write({0, 2 * block}, 1);
    model.promise();
    model.may_insert({0, block});
    model.may_write({0, 2 * block}, 2);
    auto lost = data(1, {0, 2 * block});
    const auto written = data(2, {0, 2 * block});
    std::ranges::copy(std::span{written}.last(block), lost.begin());
    EXPECT_TRUE(judge(model, lost).none()) << "the second block was the first, and was overwritten in place";
    std::ranges::copy(std::span{written}.first(block), lost.begin());
    EXPECT_TRUE(judge(model, lost).none()) << "the insert is there, and the sizes are those of before";
    std::ranges::copy(std::span{written}.first(block), lost.begin() + block);
    EXPECT_FALSE(judge(model, lost).none());
}

}  // namespace
}  // namespace holdfast
