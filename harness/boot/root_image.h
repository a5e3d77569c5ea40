// The small root image in which a kernel under test boots: a cpio archive of the host's own programs and libraries.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

/// What is to be in the image. Directories above each file come by themselves; /bin, /sbin, /lib and /lib64 lead to
/// their namesakes in /usr. Nothing of it needs a privilege, and nothing is downloaded.
class RootImage {
 public:
    RootImage();

    /// An empty directory.
    void add_directory(const std::filesystem::path& place);
    void add_text(const std::filesystem::path& place, std::string text);
    /// A file of the host, at the same place; a symbolic link with the file that it leads to. Of a directory all that is
    /// in it. What the dynamic linker would load with a program is added too (ldd). Throws BadInput where it is not there.
    void add(const std::filesystem::path& file);
    /// A program at another place, with what it needs.
    void add_program(const std::filesystem::path& program, const std::filesystem::path& place);
    /// A file or a whole directory of the host at another place.
    void add_as(const std::filesystem::path& file, const std::filesystem::path& place);

    /// Writes a cpio archive ("newc", which the kernel reads). Throws Failure.
    void write(const std::filesystem::path& archive) const;

    /// Every place in the image, for tests.
    [[nodiscard]] std::vector<std::string> places() const;

 private:
    enum class Kind { directory, link, text, copy, console };
    struct Entry {
        Kind kind;
        /// The target of a link, the text itself, or the file to copy.
        std::string content;
        bool operator==(const Entry&) const = default;
    };
    void add_libraries_of(const std::filesystem::path& program);
    void put(const std::filesystem::path& place, const Entry& entry);

    /// By place, without the leading '/': parents stand before what is in them.
    std::map<std::string, Entry> entries_;
};

}  // namespace holdfast
