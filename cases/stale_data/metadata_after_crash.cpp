// Cuts the power in the moment in which a change of a file's metadata, or of its names, was promised.
// Contract: fsync(2) of a file promises its mode, owner, times and extended attributes as well as its data; fsync of a
// directory promises the names in it.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "fixtures/base/failure.h"
#include "fixtures/io/file.h"
#include "fixtures/io/warm_up.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {
namespace {

namespace fs = std::filesystem;

constexpr std::time_t long_ago = 1'000'000'000;  // 2001
constexpr std::uint64_t length = 8 * KiB;

struct stat status_of(const fs::path& path) {
    struct stat status {};
    checked(::stat(path.c_str(), &status), "stat of " + path.string());
    return status;
}

void write_file(const File& file) {
    std::vector<std::byte> data(length);
    fill_data(data, {1, 1}, 0);
    file.write_at(0, data);
}
bool is_whole(const fs::path& path) {
    if (!fs::exists(path) || fs::file_size(path) != length) return false;
    std::vector<std::byte> found(length);
    return File::open(path, O_RDONLY).read_at(0, found) == length && is_data(found, {1, 1}, 0);
}

void sync_directory(const fs::path& path) { File::open(path, O_RDONLY | O_DIRECTORY).sync(); }

/// A change and its promise, in a directory of its own in which there is a synced file "old".
struct Step {
    const char* name;
    void (*change)(const fs::path& directory);
    bool (*is_there)(const fs::path& directory);
};

/// fsync of the file after a change of it.
template <typename Changing>
void change_file(const fs::path& directory, const char* what, Changing changing) {
    const auto file = File::open(directory / "old", O_RDWR);
    checked(changing(file.descriptor()), std::string(what) + " of " + file.path().string());
    file.sync();
}

const std::vector<Step>& all_steps() {
    static const std::vector<Step> steps{
        {"chmod and fsync",
         [](const fs::path& in) { change_file(in, "chmod", [](int file) { return ::fchmod(file, 0640); }); },
         [](const fs::path& in) { return (status_of(in / "old").st_mode & 07777) == 0640; }},
        {"chown and fsync",
         [](const fs::path& in) { change_file(in, "chown", [](int file) { return ::fchown(file, 1234, 5678); }); },
         [](const fs::path& in) {
             return status_of(in / "old").st_uid == 1234 && status_of(in / "old").st_gid == 5678;
         }},
        {"futimens and fsync",
         [](const fs::path& in) {
             change_file(in, "futimens", [](int file) {
                 const timespec times[]{{long_ago, 0}, {long_ago, 0}};
                 return ::futimens(file, times);
             });
         },
         [](const fs::path& in) { return status_of(in / "old").st_mtim.tv_sec == long_ago; }},
        {"setxattr and fsync",
         [](const fs::path& in) {
             change_file(in, "setxattr", [](int file) { return ::fsetxattr(file, "trusted.holdfast", "kept", 4, 0); });
         },
         [](const fs::path& in) {
             char value[4]{};
             return ::getxattr((in / "old").c_str(), "trusted.holdfast", value, sizeof(value)) == 4 &&
                    std::string(value, 4) == "kept";
         }},
        {"a new file, fsync of it and of the directory",
         [](const fs::path& in) {
             const auto file = File::create(in / "new");
             write_file(file);
             file.sync();
             sync_directory(in);
         },
         [](const fs::path& in) { return is_whole(in / "new"); }},
        {"link and fsync of the directory",
         [](const fs::path& in) {
             checked(::link((in / "old").c_str(), (in / "second").c_str()), "link to " + (in / "old").string());
             sync_directory(in);
         },
         [](const fs::path& in) { return is_whole(in / "second") && status_of(in / "old").st_nlink == 2; }},
        {"rename and fsync of the directory",
         [](const fs::path& in) {
             fs::rename(in / "old", in / "renamed");
             sync_directory(in);
         },
         [](const fs::path& in) { return is_whole(in / "renamed") && !fs::exists(in / "old"); }},
        {"unlink and fsync of the directory",
         [](const fs::path& in) {
             fs::remove(in / "old");
             sync_directory(in);
         },
         [](const fs::path& in) { return !fs::exists(in / "old"); }},
        {"mkdir and fsync of the directory",
         [](const fs::path& in) {
             fs::create_directory(in / "directory");
             sync_directory(in);
         },
         [](const fs::path& in) { return fs::is_directory(in / "directory"); }},
        {"a file without a name that gets one, fsync of it and of the directory",
         [](const fs::path& in) {
             const auto file = File::open(in, O_TMPFILE | O_RDWR);
             write_file(file);
             const auto self = fmt::format("/proc/self/fd/{}", file.descriptor());
             checked(::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, (in / "named").c_str(), AT_SYMLINK_FOLLOW),
                     "linkat of a file in " + in.string());
             file.sync();
             sync_directory(in);
         },
         [](const fs::path& in) { return is_whole(in / "named"); }},
    };
    return steps;
}

void run(Experiment& experiment) {
    const auto& root = experiment.filesystem().root();
    warm_up(root);
    for (const auto& step : all_steps()) {
        fs::create_directory(root / step.name);
        write_file(File::create(root / step.name / "old"));
    }
    File::open(root, O_RDONLY | O_DIRECTORY).sync_filesystem();
    auto& disk = *experiment.held_disk();
    std::vector<std::uint64_t> promised;
    for (const auto& step : all_steps()) {
        step.change(root / step.name);
        promised.push_back(disk.served().log_length());
    }
    const auto log = disk.served().log();
    std::vector<std::string> lost;
    std::vector<std::string> damaged;
    for (std::size_t done = 0; done < promised.size(); ++done) {
        const auto& step = all_steps()[done];
        const auto keep = durable({log.begin(), log.begin() + static_cast<std::ptrdiff_t>(promised[done])});
        try {
            DisposableFilesystem crashed{experiment.recipe(), disk.crash_state(keep)};
            if (!step.is_there(crashed.root() / step.name)) lost.emplace_back(step.name);
            if (done + 1 < promised.size()) continue;
            if (const auto report = crashed.finish(); report.damaged) damaged.push_back(report.output);
        } catch (const Failure& failure) {
            lost.push_back(fmt::format("{} ({})", step.name, failure.what()));
        }
    }
    experiment.observe("after a power cut", lost.empty() ? "there" : "lost: " + lost.front(),
                       {{"all", lost}, {"tried", promised.size()}});
    experiment.observe("filesystem", damaged.empty() ? "whole" : "damaged", {{"fsck", damaged}});
}

}  // namespace

extern const Case stale_data_metadata_after_crash;
const Case stale_data_metadata_after_crash{
    .name = "stale_data.metadata_after_crash",
    .summary = "cuts the power after a file's mode, owner, times, attributes and names were synced, and looks for them",
    .method =
        "On a held disk, files get another mode, another owner, other times, an extended attribute, and are synced; "
        "files and directories are made, linked, renamed, removed and given a name for the first time, and the "
        "directory is synced. For the moment after each of these ten, a disk is made with just what flushes had "
        "covered by then; it is mounted, so that the filesystem recovers, and the change must be there. fsck looks at "
        "the last one.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
