#include "harness/boot/kernel_image.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/base/failure.h"
#include "harness/boot/kernel_modules.h"
#include "harness/boot/temporary_directory.h"

namespace holdfast {
namespace {

std::filesystem::path write(const TemporaryDirectory& directory, const std::string& content) {
    const auto file = directory.path() / "kernel";
    std::ofstream{file, std::ios::binary} << content;
    return file;
}

TEST(KernelImage, OfABzimageHasTheReleaseThatItsHeaderPointsTo) {
    const TemporaryDirectory directory;
    std::string image(0x400, '\0');
    image.replace(0x202, 4, "HdrS");
    image[0x20e] = 0x10;  // 0x210, less the 0x200 of the header
    image[0x20f] = 0x01;
    image.replace(0x310, 30, "6.1.0-57-amd64 (debian) #1 SMP");
    const auto kernel = read_kernel_image(write(directory, image));
    EXPECT_EQ(kernel.release, "6.1.0-57-amd64");
    EXPECT_EQ(kernel.kind, KernelKind::machine);
}

TEST(KernelImage, OfUserModeLinuxHasTheReleaseOfItsBanner) {
    const TemporaryDirectory directory;
    const auto kernel = read_kernel_image(
        write(directory, "\177ELF...Linux version %s (%s)\n...Linux version 6.1.190 (root@debian) ..."));
    EXPECT_EQ(kernel.release, "6.1.190");
    EXPECT_EQ(kernel.kind, KernelKind::user_mode);
}

TEST(KernelImage, IsNothingElse) {
    const TemporaryDirectory directory;
    EXPECT_THROW((void)read_kernel_image(directory.path()), BadInput);
    EXPECT_THROW((void)read_kernel_image(directory.path() / "none"), BadInput);
    EXPECT_THROW((void)read_kernel_image(write(directory, "")), BadInput);
    EXPECT_THROW((void)read_kernel_image(write(directory, "#!/bin/sh\n")), BadInput);
    std::string cut(0x210, '\0');
    cut.replace(0x202, 4, "HdrS");
    cut[0x20e] = 0x7f;
    EXPECT_THROW((void)read_kernel_image(write(directory, cut)), BadInput);
}

TEST(KernelModules, AreFoundInATreeAPackageAndBesideAnImage) {
    const TemporaryDirectory root;
    const auto tree = root.path() / "lib/modules/6.1.0";
    std::filesystem::create_directories(tree / "kernel");
    EXPECT_EQ(find_module_tree(tree, "6.1.0"), tree);
    EXPECT_EQ(find_module_tree(root.path(), "6.1.0"), tree);
    EXPECT_EQ(find_module_tree_beside(root.path() / "boot/vmlinuz-6.1.0", "6.1.0"), tree);
    EXPECT_EQ(find_module_tree_beside(root.path() / "bzImage", "6.1.0"), std::nullopt);
    EXPECT_THROW((void)find_module_tree(tree, "6.2.0"), BadInput);
    EXPECT_THROW((void)find_module_tree(root.path(), "6.2.0"), BadInput);
}

}  // namespace
}  // namespace holdfast
