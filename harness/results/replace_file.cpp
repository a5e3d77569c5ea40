#include "harness/results/replace_file.h"

#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "fixtures/base/descriptor.h"
#include "fixtures/base/failure.h"

namespace holdfast {
namespace {

constexpr mode_t mode = 0666;  // less the umask

// A name beside the file, for the moment between writing and renaming. Removed where renaming does not come to pass.
class TemporaryName {
 public:
    explicit TemporaryName(const std::filesystem::path& file)
        : path_(file.parent_path() / fmt::format(".{}.{}", file.filename().string(), ::getpid())) {
        ::unlink(path_.c_str());  // of a killed process that had our number
    }
    TemporaryName(const TemporaryName&) = delete;
    TemporaryName& operator=(const TemporaryName&) = delete;
    ~TemporaryName() {
        if (exists_ && ::unlink(path_.c_str()) != 0) std::perror(path_.c_str());
    }

    [[nodiscard]] const char* path() const { return path_.c_str(); }

    Descriptor create() {
        Descriptor file{checked(::open(path(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode), attempt())};
        exists_ = true;
        return file;
    }

    void give_to(const Descriptor& unnamed) {
        const auto self = fmt::format("/proc/self/fd/{}", unnamed.get());
        checked(::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path(), AT_SYMLINK_FOLLOW), attempt());
        exists_ = true;
    }

    void rename_to(const std::filesystem::path& file) {
        checked(::rename(path(), file.c_str()), fmt::format("renaming {} to {}", path(), file.string()));
        exists_ = false;
    }

 private:
    [[nodiscard]] std::string attempt() const { return fmt::format("creating {}", path_.string()); }

    std::filesystem::path path_;
    bool exists_ = false;
};

// Not valid where the filesystem (9p, NFS) or the kernel has no O_TMPFILE.
Descriptor create_unnamed(const std::filesystem::path& directory) {
    Descriptor file{::open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode)};
    if (!file.valid() && errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
        throw SystemFailure(fmt::format("writing into {}", directory.string()), errno);
    return file;
}

void write_all(const Descriptor& file, std::string_view text, const std::filesystem::path& path) {
    while (!text.empty()) {
        const auto written = ::write(file.get(), text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        text.remove_prefix(static_cast<std::size_t>(checked(written, fmt::format("writing {}", path.string()))));
    }
}

void sync_directory(const std::filesystem::path& directory) {
    const auto attempted = fmt::format("syncing {}", directory.string());
    const Descriptor opened{checked(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), attempted)};
    // Some filesystems cannot sync a directory and need not.
    if (::fsync(opened.get()) != 0 && errno != EINVAL && errno != EROFS) throw SystemFailure(attempted, errno);
}

}  // namespace

void replace_file(const std::filesystem::path& path, std::initializer_list<std::string_view> parts, bool durable) {
    const auto file = std::filesystem::absolute(path);
    TemporaryName name{file};
    const auto unnamed = create_unnamed(file.parent_path());
    const auto named = unnamed.valid() ? Descriptor{} : name.create();
    const auto& written = unnamed.valid() ? unnamed : named;
    for (const auto part : parts) write_all(written, part, path);
    if (durable) checked(::fsync(written.get()), fmt::format("syncing {}", path.string()));
    if (unnamed.valid()) name.give_to(unnamed);
    name.rename_to(file);
    if (durable) sync_directory(file.parent_path());
}

}  // namespace holdfast
