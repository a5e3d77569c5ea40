#include "harness/boot/kernel_image.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "fixtures/base/failure.h"

namespace holdfast {
namespace {

// Of the real-mode kernel header.
constexpr std::size_t header_magic = 0x202;
constexpr std::size_t header_version_pointer = 0x20e;
constexpr std::size_t header_start = 0x200;

// What every kernel prints first; User Mode Linux has it in the clear.
constexpr std::string_view banner = "Linux version ";

std::string read_all(const std::filesystem::path& file) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(file, error))
        throw BadInput(fmt::format("{}: no kernel there: {}", file.string(),
                                   error ? error.message() : "it is not a regular file"));
    std::ifstream stream{file, std::ios::binary};
    std::string content{std::istreambuf_iterator<char>{stream}, {}};
    if (!stream) throw BadInput(fmt::format("{}: cannot be read: {}", file.string(), std::strerror(errno)));
    return content;
}

std::string first_word(std::string_view text) {
    return std::string{text.substr(0, text.find_first_of(std::string_view{" \n\0", 3}))};
}

std::optional<std::string> find_release_of_bzimage(std::string_view content) {
    if (content.substr(0, header_start + 0x10).size() < header_start + 0x10 ||
        content.substr(header_magic, 4) != "HdrS")
        return std::nullopt;
    const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(content[at])); };
    const auto place = header_start + byte(header_version_pointer) + (byte(header_version_pointer + 1) << 8);
    if (place == header_start || place >= content.size()) return std::nullopt;
    return first_word(content.substr(place));
}

std::optional<std::string> find_release_of_user_mode(std::string_view content) {
    if (!content.starts_with("\177ELF")) return std::nullopt;
    // The format of the banner stands there too: "Linux version %s (...)".
    for (auto at = content.find(banner); at != std::string_view::npos; at = content.find(banner, at + 1)) {
        auto release = first_word(content.substr(at + banner.size(), 128));
        if (!release.empty() && release.front() >= '0' && release.front() <= '9') return release;
    }
    return std::nullopt;
}

}  // namespace

KernelImage read_kernel_image(const std::filesystem::path& file) {
    const auto content = read_all(file);
    if (auto release = find_release_of_bzimage(content)) return {file, KernelKind::machine, *std::move(release)};
    if (auto release = find_release_of_user_mode(content)) return {file, KernelKind::user_mode, *std::move(release)};
    throw BadInput(
        fmt::format("{}: neither a bzImage (arch/x86/boot/bzImage, /boot/vmlinuz-...) nor a User Mode Linux program",
                    file.string()));
}

}  // namespace holdfast
