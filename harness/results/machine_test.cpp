#include "harness/results/machine.h"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

TEST(Machine, DescribesThisOne) {
    const auto machine = describe_machine();
    EXPECT_FALSE(machine.kernel_release.empty());
    EXPECT_GE(machine.cpus, 1U);
    EXPECT_GT(machine.memory_bytes, 1U << 20U);
    for (const auto& [name, version] : machine.tools) EXPECT_FALSE(version.empty()) << name;
}

TEST(Machine, FindsTheVersionInWhatAToolPrints) {
    EXPECT_EQ(find_version("mke2fs 1.47.0 (5-Feb-2023)\n\tUsing EXT2FS Library version 1.47.0\n"), "1.47.0");
    EXPECT_EQ(find_version("mkfs.xfs version 6.1.0\n"), "6.1.0");
    EXPECT_EQ(find_version("mkfs.btrfs, part of btrfs-progs v6.2\n"), "6.2");
    EXPECT_EQ(find_version("fio-3.33\n"), "3.33");
    EXPECT_EQ(find_version("mke2fs 1.47.2-rc1 (1-Jan-2025)"), "1.47.2-rc1");
    EXPECT_EQ(find_version("unknown option\n"), "");
    EXPECT_EQ(find_version(""), "");
}

}  // namespace
}  // namespace holdfast
