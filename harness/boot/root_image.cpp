#include "harness/boot/root_image.h"

#include <array>
#include <fstream>
#include <memory>
#include <sstream>

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "fixtures/base/child_process.h"
#include "fixtures/base/failure.h"

namespace holdfast {
namespace {

namespace fs = std::filesystem;

constexpr std::array merged{"bin", "sbin", "lib", "lib64"};

// The place without '/' in front, with "lib/..." as "usr/lib/...".
std::string normalized(const fs::path& place) {
    auto relative = place.lexically_normal().relative_path();
    if (!relative.has_filename()) relative = relative.parent_path();
    for (const auto* name : merged)
        if (*relative.begin() == name && std::next(relative.begin()) != relative.end())
            return ("usr" / relative).string();
    return relative.string();
}

bool is_program(const fs::path& file) {
    std::ifstream stream{file, std::ios::binary};
    std::array<char, 4> magic{};
    stream.read(magic.data(), magic.size());
    return stream && std::string_view{magic.data(), magic.size()} == "\177ELF";
}

// ldd prints "NAME => PATH (ADDRESS)", and for the dynamic linker itself "PATH (ADDRESS)".
std::vector<fs::path> libraries_of(const fs::path& program) {
    std::vector<fs::path> libraries;
    std::istringstream lines{run_tool("ldd", {program.string()}).output};
    for (std::string line; std::getline(lines, line);) {
        if (line.find("=> not found") != std::string::npos)
            throw Failure(fmt::format("{} needs a library that is not there:{}", program.string(), line));
        const auto end = line.find(" (0x");
        const auto begin = line.find('/');
        if (begin < end && end != std::string::npos) libraries.emplace_back(line.substr(begin, end - begin));
    }
    return libraries;
}

struct WriterDeleter {
    void operator()(archive* writer) const { archive_write_free(writer); }
};
struct EntryDeleter {
    void operator()(archive_entry* entry) const { archive_entry_free(entry); }
};
using Writer = std::unique_ptr<archive, WriterDeleter>;

void check(archive* writer, long result) {
    if (result < ARCHIVE_OK) throw Failure(fmt::format("writing the root image: {}", archive_error_string(writer)));
}

std::string content_of(const fs::path& file) {
    std::ifstream stream{file, std::ios::binary};
    std::string content{std::istreambuf_iterator<char>{stream}, {}};
    if (!stream) throw Failure(fmt::format("{}: cannot be read for the root image", file.string()));
    return content;
}

bool is_executable(const fs::path& file) {
    return (fs::status(file).permissions() & fs::perms::owner_exec) != fs::perms::none;
}

}  // namespace

RootImage::RootImage() {
    for (const auto* name : merged) {
        add_directory(fs::path{"usr"} / name);
        put(name, {Kind::link, fmt::format("usr/{}", name)});
    }
    for (const auto* name : {"dev", "proc", "sys", "tmp", "run", "mnt", "etc"}) add_directory(name);
    put("dev/console", {Kind::console, {}});  // the kernel opens it for init before anything is mounted
}

void RootImage::put(const fs::path& place, const Entry& entry) {
    const auto name = normalized(place);
    if (name.empty()) return;
    const fs::path path{name};
    if (path.has_parent_path()) add_directory(path.parent_path());
    const bool is_directory = entry.kind == Kind::directory;
    const auto [found, fresh] = entries_.try_emplace(name, entry);
    if (!fresh && !is_directory && found->second.kind == Kind::directory)
        throw Failure(fmt::format("the root image cannot have both a directory and a file /{}", name));
}

void RootImage::add_directory(const fs::path& place) { put(place, {Kind::directory, {}}); }
void RootImage::add_text(const fs::path& place, std::string text) { put(place, {Kind::text, std::move(text)}); }

void RootImage::add_as(const fs::path& file, const fs::path& place) {
    if (!fs::exists(file)) throw BadInput(fmt::format("{}: is not there, for the root image", file.string()));
    if (!fs::is_directory(file)) return put(place, {Kind::copy, file.string()});
    add_directory(place);
    for (const auto& one : fs::recursive_directory_iterator{file})
        if (!one.is_directory()) put(place / one.path().lexically_relative(file), {Kind::copy, one.path().string()});
}

void RootImage::add(const fs::path& file) {
    if (!fs::exists(file)) throw BadInput(fmt::format("{}: is not there, for the root image", file.string()));
    if (fs::is_directory(file)) {
        for (const auto& one : fs::recursive_directory_iterator{file})
            if (!one.is_directory()) add(one.path());
        return add_directory(file);
    }
    const auto place = fs::absolute(file);
    const auto real = fs::canonical(file);
    if (entries_.contains(normalized(place))) return;
    put(real, {Kind::copy, real.string()});
    if (normalized(place) != normalized(real)) put(place, {Kind::link, "/" + normalized(real)});
    add_libraries_of(real);
}

void RootImage::add_program(const fs::path& program, const fs::path& place) {
    put(place, {Kind::copy, fs::canonical(program).string()});
    add_libraries_of(program);
}

void RootImage::add_libraries_of(const fs::path& program) {
    if (!is_program(program)) return;
    for (const auto& library : libraries_of(program)) add(library);
}

std::vector<std::string> RootImage::places() const {
    std::vector<std::string> places;
    for (const auto& [place, entry] : entries_) places.push_back("/" + place);
    return places;
}

void RootImage::write(const fs::path& archive) const {
    const Writer writer{archive_write_new()};
    check(writer.get(), archive_write_set_format_cpio_newc(writer.get()));
    check(writer.get(), archive_write_open_filename(writer.get(), archive.c_str()));
    for (const auto& [place, entry] : entries_) {
        const std::unique_ptr<archive_entry, EntryDeleter> header{archive_entry_new()};
        archive_entry_set_pathname(header.get(), place.c_str());
        archive_entry_set_nlink(header.get(), 1);
        std::string content;
        switch (entry.kind) {
            case Kind::directory:
                archive_entry_set_mode(header.get(), S_IFDIR | 0755);
                break;
            case Kind::link:
                archive_entry_set_mode(header.get(), S_IFLNK | 0777);
                archive_entry_set_symlink(header.get(), entry.content.c_str());
                break;
            case Kind::console:
                archive_entry_set_mode(header.get(), S_IFCHR | 0600);
                archive_entry_set_rdev(header.get(), makedev(5, 1));
                break;
            case Kind::text:
                content = entry.content;
                archive_entry_set_mode(header.get(), S_IFREG | 0644);
                break;
            case Kind::copy:
                content = content_of(entry.content);
                archive_entry_set_mode(header.get(), S_IFREG | (is_executable(entry.content) ? 0755U : 0644U));
                break;
        }
        archive_entry_set_size(header.get(), static_cast<la_int64_t>(content.size()));
        check(writer.get(), archive_write_header(writer.get(), header.get()));
        if (!content.empty()) check(writer.get(), archive_write_data(writer.get(), content.data(), content.size()));
    }
    check(writer.get(), archive_write_close(writer.get()));
}

}  // namespace holdfast
