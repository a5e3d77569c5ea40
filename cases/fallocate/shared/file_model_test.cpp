#include "cases/fallocate/shared/file_model.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace holdfast::fallocate {
namespace {

constexpr std::uint64_t block = 16;

/// A file of written blocks in which every byte of block N is N + 1.
FileModel written(std::uint64_t count, std::uint64_t unit = block) {
    FileModel model(block, unit);
    for (std::uint64_t i = 0; i < count; ++i) {
        model.write(i * block, std::vector<std::byte>(block, static_cast<std::byte>(i + 1)));
    }
    return model;
}

/// One letter for each block: H, U, W, A, ?.
std::string states(const FileModel& model) {
    std::string text;
    for (const BlockState state : model.blocks()) text += "HUWA?"[static_cast<int>(state)];
    return text;
}

/// The first byte of each block.
std::string firsts(const FileModel& model) {
    std::string text;
    for (std::uint64_t at = 0; at < model.size(); at += block) {
        text += static_cast<char>('0' + std::to_integer<int>(model.content()[at]));
    }
    return text;
}

TEST(FileModel, AllocateFillsHolesAndKeepsData) {
    FileModel model = written(2);
    model.allocate(block, 3 * block + 1, true);
    EXPECT_EQ(model.size(), 2 * block);
    EXPECT_EQ(states(model), "WWUUU");
    model.allocate(block, 3 * block + 1, false);
    EXPECT_EQ(model.size(), 4 * block + 1);
    EXPECT_EQ(firsts(model), "12000");
}

TEST(FileModel, AllocateLeavesTheRestOfAnAllocationUnitOpen) {
    FileModel model(block, 2 * block);
    model.allocate(5 * block, block, false);
    EXPECT_EQ(states(model), "HH??\?U??");
}

TEST(FileModel, AllocateMayClearTheBlockInWhichTheFileEnded) {
    FileModel model(block, block);
    model.grow(block + 1);
    model.allocate(0, 3 * block, true);
    EXPECT_EQ(states(model), "UAU");
    model.let_unwritten_be_zeroed();
    EXPECT_EQ(states(model), "AAA");
}

TEST(FileModel, PunchFreesWholeBlocksAndClearsParts) {
    FileModel model = written(4);
    model.punch(block / 2, 2 * block);
    EXPECT_EQ(states(model), "WHWW");
    EXPECT_EQ(model.size(), 4 * block);
    EXPECT_EQ(firsts(model), "1004");
    EXPECT_EQ(model.content()[block / 2], std::byte{0});
    EXPECT_EQ(model.content()[2 * block + block / 2], std::byte{3});
    model.punch(3 * block, 100 * block);
    EXPECT_EQ(model.size(), 4 * block);
}

TEST(FileModel, PunchUpToAnEndInsideABlockLeavesThatBlockOpen) {
    FileModel model = written(3);
    model.truncate(2 * block + 5);
    model.punch(block, block + 4);
    EXPECT_EQ(states(model), "WHW");
    model.punch(block, block + 5);
    EXPECT_EQ(states(model), "WH?");
}

TEST(FileModel, ZeroKeepsTheBlocks) {
    FileModel model = written(4);
    model.zero(block + 1, 2 * block, false);
    EXPECT_EQ(states(model), "WWAW");
    EXPECT_EQ(firsts(model), "1200");
    model.zero(3 * block, 2 * block, true);
    EXPECT_EQ(states(model), "WWAAA");
    EXPECT_EQ(model.size(), 4 * block);
    model.zero(3 * block, 2 * block, false);
    EXPECT_EQ(model.size(), 5 * block);
}

TEST(FileModel, TruncateTakesBlocksAwayAndNeverBringsDataBack) {
    FileModel model = written(4);
    model.truncate(block + 1);
    EXPECT_EQ(states(model), "WW");
    model.truncate(4 * block);
    EXPECT_EQ(states(model), "WW");
    EXPECT_EQ(firsts(model), "1200");
    EXPECT_EQ(model.content()[block + 1], std::byte{0});
}

TEST(FileModel, BlocksBehindTheEndAreLeftOpenByPunchingAndMoving) {
    FileModel model = written(2);
    model.allocate(2 * block, 2 * block, true);
    EXPECT_EQ(states(model), "WWUU");
    model.punch(block, 2 * block);
    EXPECT_EQ(states(model), "WH??");
}

TEST(FileModel, TheBlockInWhichTheFileEndsMayBeAllocated) {
    FileModel model(block, block);
    model.grow(2 * block + 1);
    model.let_end_be_allocated(2 * block);
    EXPECT_EQ(states(model), "");
    model.let_end_be_allocated(2 * block + 1);
    EXPECT_EQ(states(model), "HH?");
}

TEST(FileModel, HolesMayBeFilledWhereTheFilesystemAllocatesInAdvance) {
    FileModel model = written(1);
    model.grow(3 * block);
    model.write(2 * block, std::vector<std::byte>(block, std::byte{3}));
    EXPECT_EQ(states(model), "WHW");
    EXPECT_EQ(model.beyond(), BlockState::hole);
    model.let_holes_be_filled();
    EXPECT_EQ(states(model), "W?W");
    EXPECT_EQ(model.beyond(), BlockState::unspecified);
}

TEST(FileModel, CollapseAndInsertMoveWhatFollows) {
    FileModel model = written(5);
    model.collapse(block, 2 * block);
    EXPECT_EQ(firsts(model), "145");
    EXPECT_EQ(states(model), "WWW");
    model.insert(block, block);
    EXPECT_EQ(firsts(model), "1045");
    EXPECT_EQ(states(model), "WHWW");
    EXPECT_EQ(model.size(), 4 * block);
}

}  // namespace
}  // namespace holdfast::fallocate
