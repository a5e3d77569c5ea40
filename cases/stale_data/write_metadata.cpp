// Writes to files, cuts them and clones over them in every way, and looks at what belongs to a file besides its data.
// Contract: whatever changes a file's data or size moves mtime and ctime, and takes away setuid, setgid and file
// capabilities from who may not keep them (write(2), truncate(2), chmod(2), inode(7)); st_blocks counts dirty data, too.
#include <array>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "fixtures/base/failure.h"
#include "fixtures/base/without_capability.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/clone.h"
#include "fixtures/io/file.h"
#include "fixtures/io/mapping.h"
#include "fixtures/io/write_way.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {
namespace {

constexpr std::time_t long_ago = 1'000'000'000;  // 2001
constexpr mode_t all_bits = S_ISUID | S_ISGID | 0755;
constexpr const char* capability_name = "security.capability";

struct State {
    struct stat status {};
    bool has_capability = false;
};

State state_of(const std::filesystem::path& path) {
    State state;
    checked(::stat(path.c_str(), &state.status), "stat of " + path.string());
    state.has_capability = ::getxattr(path.c_str(), capability_name, nullptr, 0) > 0;
    return state;
}

/// Gives a file all that a change takes away, and times of 2001; ctime alone cannot be set, and becomes what it is now.
void dress_up(const File& file) {
    checked(::fchmod(file.descriptor(), all_bits), "chmod of " + file.path().string());
    vfs_cap_data data{};
    data.magic_etc = VFS_CAP_REVISION_2;
    data.data[0].permitted = 1U << CAP_NET_BIND_SERVICE;
    checked(::fsetxattr(file.descriptor(), capability_name, &data, sizeof(data), 0),
            "giving a capability to " + file.path().string());
    const timespec times[]{{long_ago, 0}, {long_ago, 0}};
    checked(::futimens(file.descriptor(), times), "futimens of " + file.path().string());
}

bool same(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

/// A way to change a file of `written` bytes.
struct Change {
    std::string name;
    /// False where there is no such way here.
    std::function<bool(const std::filesystem::path&)> carry_out;
    /// A store through a mapping leaves the mode alone.
    bool takes_bits = true;
    /// The file is data all over then.
    bool appends = false;
};

class WriteMetadata {
 public:
    explicit WriteMetadata(Experiment& experiment)
        : experiment_(experiment),
          root_(experiment.filesystem().root()),
          unit_(direct_write_unit(experiment.filesystem())),
          written_(4 * unit_) {
        const auto source = File::create(root_ / "source");
        source.write_at(0, bytes_of(written_, 0));
        source.sync();
    }

    void run() {
        std::vector<std::pair<std::filesystem::path, Change>> changed;
        for (auto& change : all_changes()) {
            const auto path = root_ / fmt::format("file-{}", ++files_);
            if (look_at(path, change)) changed.emplace_back(path, std::move(change));
        }
        experiment_.filesystem().remount();
        for (const auto& [path, change] : changed) {
            const auto after = state_of(path);
            if (after.status.st_mtim.tv_sec <= long_ago || (change.takes_bits && has_bits(after)))
                add(lost_, change.name);
        }
        const nlohmann::json tried = changed.size();
        const auto observe = [&](const char* name, const char* right, const std::vector<std::string>& wrong) {
            experiment_.observe(name, wrong.empty() ? right : "stays: " + wrong.front(),
                                {{"all", wrong}, {"tried", tried}});
        };
        observe("mtime", "moves", mtime_);
        observe("ctime", "moves", ctime_);
        observe("setuid, setgid and capability", "taken away", bits_);
        observe("times and mode after a remount", "kept", lost_);
        experiment_.observe("blocks", blocks_.empty() ? "for all data" : "too few: " + blocks_.front(),
                            {{"all", blocks_}, {"tried", tried}});
    }

 private:
    [[nodiscard]] std::vector<std::byte> bytes_of(std::uint64_t length, std::uint64_t offset) const {
        std::vector<std::byte> bytes(length);
        fill_data(bytes, {files_ + 1, 2}, offset);
        return bytes;
    }

    [[nodiscard]] std::vector<Change> all_changes() const {
        std::vector<Change> changes;
        for (int number = 0; number <= static_cast<int>(last_way); ++number) {
            const auto way = static_cast<WriteWay>(number);
            const auto write = [this, way](std::uint64_t offset) {
                return [this, way, offset](const std::filesystem::path& path) {
                    return write_by(way, path, offset, bytes_of(unit_, offset)).possible;
                };
            };
            if (!only_appends(way))
                changes.push_back({fmt::format("a write onto data {}", describe(way)), write(unit_)});
            changes.push_back({fmt::format("an append {}", describe(way)), write(written_), true, true});
        }
        const auto truncate = [&](const char* name, std::uint64_t size, bool open) {
            changes.push_back({name, [size, open](const std::filesystem::path& path) {
                                   if (open)
                                       File::open(path, O_RDWR).truncate(size);
                                   else
                                       checked(::truncate(path.c_str(), static_cast<off_t>(size)),
                                               "truncate of " + path.string());
                                   return true;
                               }});
        };
        truncate("ftruncate to less", 2 * unit_, true);
        truncate("ftruncate to more", 6 * unit_, true);
        truncate("truncate to less", 2 * unit_, false);
        truncate("truncate to less, inside a block", written_ - 100, false);
        truncate("truncate to more", 6 * unit_, false);
        truncate("truncate to nothing", 0, false);
        changes.push_back({"open with O_TRUNC", [](const std::filesystem::path& path) {
                               (void)File::open(path, O_RDWR | O_TRUNC);
                               return true;
                           }});
        changes.push_back({"a store through a mapping, and msync",
                           [this](const std::filesystem::path& path) {
                               const auto file = File::open(path, O_RDWR);
                               const Mapping mapping{file, 0, written_};
                               mapping.bytes()[unit_] = std::byte{1};
                               checked(::msync(mapping.bytes().data(), written_, MS_SYNC), "msync of " + path.string());
                               return true;
                           },
                           false});
        changes.push_back({"a clone over it", [this](const std::filesystem::path& path) {
                               const auto source = File::open(root_ / "source", O_RDONLY);
                               const int error = clone_range(source, File::open(path, O_RDWR), {0, written_, 0});
                               if (error != 0 && error != EOPNOTSUPP)
                                   throw SystemFailure("FICLONERANGE to " + path.string(), error);
                               return error == 0;
                           }});
        return changes;
    }

    [[nodiscard]] static bool has_bits(const State& state) {
        return (state.status.st_mode & (S_ISUID | S_ISGID)) != 0 || state.has_capability;
    }
    static void add(std::vector<std::string>& wrong, const std::string& name) { wrong.push_back(name); }

    [[nodiscard]] bool look_at(const std::filesystem::path& path, const Change& change) {
        {
            const auto file = File::create(path);
            file.write_at(0, bytes_of(written_, 0));
            file.sync();
            dress_up(file);
        }
        const auto before = state_of(path);
        // ctime is coarse: it moves on with the kernel's tick.
        const timespec tick{0, 12'000'000};
        ::nanosleep(&tick, nullptr);
        {
            // Who has CAP_FSETID keeps setuid and setgid.
            const WithoutCapability unprivileged(CAP_FSETID);
            if (!change.carry_out(path)) return false;
        }
        const auto after = state_of(path);
        if (after.status.st_mtim.tv_sec <= long_ago) add(mtime_, change.name);
        if (same(before.status.st_ctim, after.status.st_ctim)) add(ctime_, change.name);
        if (change.takes_bits && has_bits(after)) add(bits_, change.name);
        if (change.appends && after.status.st_blocks * 512 < after.status.st_size) add(blocks_, change.name);
        return true;
    }

    Experiment& experiment_;
    std::filesystem::path root_;
    std::uint64_t unit_;
    std::uint64_t written_;
    std::uint32_t files_ = 0;
    std::vector<std::string> mtime_;
    std::vector<std::string> ctime_;
    std::vector<std::string> bits_;
    std::vector<std::string> lost_;
    std::vector<std::string> blocks_;
};

void run(Experiment& experiment) { WriteMetadata{experiment}.run(); }

}  // namespace

extern const Case stale_data_write_metadata;
const Case stale_data_write_metadata{
    .name = "stale_data.write_metadata",
    .summary = "writes to files in every way, cuts them and clones over them, and looks at times, setuid and setgid",
    .method =
        "Files with times of 2001, setuid, setgid and a file capability are changed by a thread without CAP_FSETID, "
        "each in one of some fifty ways: written to and appended to through the page cache and directly, by every call "
        "there is, cut and grown by truncate, ftruncate and O_TRUNC, stored to through a mapping, cloned over. mtime "
        "and ctime must have moved, and the bits be gone (but for a mapping), and be so still after a remount; and a "
        "file that is data all over must not seem to have holes (st_blocks), dirty or not.",
    .needs = {{"capability", "CAP_FSETID"}, {"feature", "aio"}},
    .run = run,
};

}  // namespace holdfast::cases
