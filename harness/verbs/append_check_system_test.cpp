// holdfast append-check on filesystems whose disk takes its time: what waits for the disk is then certain to sleep.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/base/mount.h"
#include "fixtures/disk/held/held_disk.h"
#include "fixtures/filesystem/disposable.h"
#include "harness/testing/program.h"

namespace holdfast {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr unsigned writes = 40;

class Checked {
 public:
    explicit Checked(const char* filesystem)
        : filesystem_(shipped_recipe(filesystem), RunDirectory::in_memory(), DiskKind::held) {
        dynamic_cast<HeldDisk&>(filesystem_.disk())
            .served()
            .add_rule({.action = RuleAction::delay, .delay = std::chrono::milliseconds{10}});
        const auto run =
            holdfast({"append-check", filesystem_.root().string(), "--json", "--writes", std::to_string(writes)});
        EXPECT_EQ(run.ending.status, 0) << run.output;
        said_ = nlohmann::json::parse(run.output);
        EXPECT_TRUE(std::filesystem::is_empty(filesystem_.root()) || left_by_mkfs()) << "it leaves nothing";
    }

    [[nodiscard]] const nlohmann::json& said() const { return said_; }
    [[nodiscard]] nlohmann::json way(const std::string& name) const {
        for (const auto& way : said_.at("ways"))
            if (way.at("way") == name) return way;
        return {};
    }

 private:
    [[nodiscard]] bool left_by_mkfs() const {
        for (const auto& entry : std::filesystem::directory_iterator{filesystem_.root()})
            if (entry.path().filename() != "lost+found") return false;
        return true;
    }

    DisposableFilesystem filesystem_;
    nlohmann::json said_;
};

TEST(AppendCheck, Ext4BlocksAndPreallocatingAvoidsIt) {
    const Checked ext4{"ext4"};
    const auto append = ext4.way("append");
    EXPECT_EQ(append.at("outcome"), "blocks");
    EXPECT_EQ(append.at("slept"), writes);
    EXPECT_EQ(append.at("complete_on_return"), writes);
    EXPECT_EQ(append.at("waits_in"), "iomap_dio_rw");
    EXPECT_EQ(ext4.way("overwrite").at("outcome"), "asynchronous");
    EXPECT_EQ(ext4.way("preallocated").at("outcome"), "asynchronous");
    EXPECT_THAT(ext4.said().at("advice"), HasSubstr("preallocate"));
    EXPECT_EQ(ext4.said().at("filesystem").at("type"), "ext4");
}

TEST(AppendCheck, XfsBlocksOnlyWithAnotherAppendInFlight) {
    const Checked xfs{"xfs"};
    EXPECT_EQ(xfs.way("append").at("outcome"), "asynchronous") << xfs.said().dump(2);
    EXPECT_THAT(xfs.said().at("advice").get<std::string>(), IsEmpty());
    const auto two = xfs.way("two appends in flight");
    EXPECT_GT(two.at("overlapped"), 0);
    EXPECT_EQ(two.at("outcome"), "blocks");
    EXPECT_EQ(two.at("waits_in"), "inode_dio_wait");
}

TEST(AppendCheck, OnTmpfsNothingWaits) {
    const Mount memory{"tmpfs", enter_private_namespace(), "tmpfs", "size=16m"};
    const auto directory = enter_private_namespace();
    const auto run = holdfast({"append-check", directory.string()});
    // Kernels before 6.6 refuse O_DIRECT there.
    if (run.ending.status == 2)
        EXPECT_THAT(run.output, HasSubstr("expected a filesystem that takes O_DIRECT"));
    else
        EXPECT_THAT(run.output, HasSubstr("keeps its data in memory"));
    EXPECT_TRUE(std::filesystem::is_empty(directory));
}

TEST(AppendCheck, NamesWhatItCannotUse) {
    const Scratch scratch;
    const auto file = scratch.write("file", "");
    const auto refuses = [](const ToolRun& run, const char* message) {
        EXPECT_EQ(run.ending.status, 2) << run.output;
        EXPECT_THAT(run.output, HasSubstr(message));
    };
    refuses(holdfast({"append-check", (scratch / "none").string()}), "No such file or directory");
    refuses(holdfast({"append-check", file.string()}), "Not a directory");
    refuses(holdfast({"append-check", "/proc"}), "/proc: ");
    refuses(as_nobody({"append-check", "/root"}), "/root: Permission denied");
    refuses(holdfast({"append-check", "/tmp", "--writes", "5"}), "--writes");
}

TEST(AppendCheck, AnybodyMayAsk) {
    const auto run = as_nobody({"append-check", "/tmp", "--json"});
    ASSERT_TRUE(run.ending.status == 0 || run.ending.status == 3) << run.output;
    EXPECT_FALSE(nlohmann::json::parse(run.output).at("sees_stacks").get<bool>());
}

}  // namespace
}  // namespace holdfast
