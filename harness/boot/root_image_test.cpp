#include "harness/boot/root_image.h"

#include <fstream>

#include <archive.h>
#include <archive_entry.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/base/child_process.h"
#include "fixtures/base/failure.h"
#include "harness/boot/temporary_directory.h"

namespace holdfast {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

// "PATH" of every entry, with " -> TARGET" of a link, in the order of the archive.
std::vector<std::string> entries_of(const std::filesystem::path& file) {
    std::vector<std::string> entries;
    auto* reader = archive_read_new();
    archive_read_support_format_cpio(reader);
    EXPECT_EQ(archive_read_open_filename(reader, file.c_str(), 65536), ARCHIVE_OK);
    for (archive_entry* entry = nullptr; archive_read_next_header(reader, &entry) == ARCHIVE_OK;) {
        const char* target = archive_entry_symlink(entry);
        entries.push_back(std::string{archive_entry_pathname(entry)} +
                          (target != nullptr ? std::string{" -> "} + target : ""));
    }
    archive_read_free(reader);
    return entries;
}

TEST(RootImage, HasAProgramWithWhatItIsLinkedWith) {
    RootImage image;
    image.add_program(running_program(), "/usr/bin/it");
    const auto places = image.places();
    EXPECT_THAT(places, Contains("/usr/bin/it"));
    EXPECT_THAT(places, Contains(HasSubstr("/libstdc++.so.6")));
    EXPECT_THAT(places, Contains(HasSubstr("/ld-linux-x86-64.so.2")));
}

TEST(RootImage, HasFilesAtTheirPlacesAndLinksWithWhatTheyLeadTo) {
    const TemporaryDirectory directory;
    std::ofstream{directory.path() / "file"} << "text";
    std::filesystem::create_symlink("file", directory.path() / "link");
    RootImage image;
    image.add(directory.path() / "link");
    const auto archive = directory.path() / "root.cpio";
    image.write(archive);
    const auto entries = entries_of(archive);
    const auto inside = directory.path().relative_path().string();
    EXPECT_THAT(entries, Contains(inside + "/file"));
    EXPECT_THAT(entries, Contains(inside + "/link -> /" + inside + "/file"));
    EXPECT_THAT(entries, Contains("lib64 -> usr/lib64"));
    EXPECT_THAT(entries, Contains("dev/console"));
}

TEST(RootImage, DirectoriesStandBeforeWhatIsInThem) {
    const TemporaryDirectory directory;
    RootImage image;
    image.add_text("/a/b/c", "text");
    image.write(directory.path() / "root.cpio");
    auto entries = entries_of(directory.path() / "root.cpio");
    std::erase_if(entries, [](const std::string& entry) { return entry != "a" && !entry.starts_with("a/"); });
    EXPECT_THAT(entries, ElementsAre("a", "a/b", "a/b/c"));
}

TEST(RootImage, RefusesWhatIsNotThere) {
    RootImage image;
    EXPECT_THROW(image.add("/no/such/file"), BadInput);
}

}  // namespace
}  // namespace holdfast
