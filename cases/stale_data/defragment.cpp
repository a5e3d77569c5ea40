// Moves the blocks of a file into those of another one that was preallocated for it, as e4defrag(8) does.
// Contract: the file is what it was before, clean or dirty, and the other one, which has the old blocks now, shows nothing of
// what is in them.
#include <cerrno>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "fixtures/base/failure.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/file.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {
namespace {

/// Of fs/ext4/ext4.h, which is no header for programs. In blocks.
struct MoveExtent {
    std::uint32_t reserved;
    std::uint32_t donor;
    std::uint64_t start;
    std::uint64_t donor_start;
    std::uint64_t length;
    std::uint64_t moved;
};
constexpr unsigned long move_extent = _IOWR('f', 15, MoveExtent);

constexpr std::uint64_t blocks = 16;

// What the file has before it is moved.
enum class Kind { clean, dirty, preallocated };

class Defragment {
 public:
    explicit Defragment(Experiment& experiment)
        : experiment_(experiment),
          root_(experiment.filesystem().root()),
          block_(allocation_units(experiment.filesystem()).block) {}

    void run() {
        for (const auto kind : {Kind::clean, Kind::dirty, Kind::preallocated}) move(kind);
        if (blocks_moved_ == 0) experiment_.skip("EXT4_IOC_MOVE_EXT has moved nothing: EBUSY");
        experiment_.filesystem().remount();
        for (std::uint32_t number = 1; number <= files_; ++number) judge(number, "after a remount");
        experiment_.observe("moved", moved_.empty() ? "right" : moved_.front(), {{"all", moved_}});
        experiment_.observe("donor", donors_.empty() ? "zeros" : donors_.front(), {{"all", donors_}});
    }

 private:
    [[nodiscard]] std::filesystem::path path(const char* name, std::uint32_t number) const {
        return root_ / fmt::format("{}-{}", name, number);
    }
    [[nodiscard]] std::uint64_t size() const { return blocks * block_; }

    void move(Kind kind) {
        ++files_;
        const auto file = File::create(path("file", files_));
        if (kind == Kind::preallocated) allocate(file);
        std::vector<std::byte> data(kind == Kind::preallocated ? size() / 2 : size());
        fill_data(data, {files_, 1}, 0);
        file.write_at(0, data);
        file.sync();
        generations_.push_back(kind == Kind::dirty ? 2 : 1);
        if (kind == Kind::dirty) {
            fill_data(data, {files_, 2}, 0);
            file.write_at(0, data);
        }
        const auto donor = File::create(path("donor", files_));
        allocate(donor);
        donor.sync();
        MoveExtent request{0, static_cast<std::uint32_t>(donor.descriptor()), 0, 0, blocks, 0};
        if (::ioctl(file.descriptor(), move_extent, &request) != 0) {
            if (errno == ENOTTY || errno == EOPNOTSUPP || errno == EINVAL)
                experiment_.skip(fmt::format("EXT4_IOC_MOVE_EXT is {} here", error_name(errno)));
            // What is dirty, or waits for a journal that there is not, may be in the way.
            if (errno != EBUSY) throw SystemFailure("EXT4_IOC_MOVE_EXT of " + file.path().string(), errno);
        }
        blocks_moved_ += request.moved;
        judge(files_, "at once");
    }

    void allocate(const File& file) {
        const int error = file.fallocate(0, 0, size());
        if (error == EOPNOTSUPP) experiment_.skip("fallocate(2) is not supported here");
        if (error != 0) throw SystemFailure("fallocate of " + file.path().string(), error);
    }

    void judge(std::uint32_t number, const char* when) {
        const auto read = [&](const char* name) {
            const auto file = File::open(path(name, number), O_RDONLY);
            std::vector<std::byte> content(size());
            content.resize(file.read_at(0, content));
            return content;
        };
        const auto content = read("file");
        const auto half = std::span(content).first(content.size() / 2);
        const auto rest = std::span(content).subspan(content.size() / 2);
        const FileTag tag{number, generations_.at(number - 1)};
        if (content.size() != size() || !is_data(half, tag, 0) ||
            !(is_data(rest, tag, size() / 2) || (tag.generation == 1 && is_zeros(rest))))
            moved_.push_back(fmt::format("file {} is no longer what it was, {}", number, when));
        const auto donor = read("donor");
        for (std::uint64_t at = 0; at < donor.size(); at += sector_size) {
            const auto sector = std::span(donor).subspan(at).first<sector_size>();
            if (is_zeros(sector)) continue;
            donors_.push_back(
                fmt::format("donor {} shows {} at byte {}, {}", number, describe(identify(sector)), at, when));
            break;
        }
    }

    Experiment& experiment_;
    std::filesystem::path root_;
    std::uint64_t block_;
    std::uint32_t files_ = 0;
    std::uint64_t blocks_moved_ = 0;
    // Of the data of each file.
    std::vector<std::uint32_t> generations_;
    std::vector<std::string> moved_;
    std::vector<std::string> donors_;
};

void run(Experiment& experiment) { Defragment{experiment}.run(); }

}  // namespace

extern const Case stale_data_defragment;
const Case stale_data_defragment{
    .name = "stale_data.defragment",
    .summary = "moves the blocks of a file into those that another one was given for it, and reads both",
    .method =
        "Files of sixteen blocks, clean, dirty, and half of them only preallocated, are moved into blocks of a donor "
        "file that were preallocated (EXT4_IOC_MOVE_EXT, which e4defrag uses). At once and after a remount the file "
        "must be what it was, and the donor, which has the file's old blocks then, must read as zeros.",
    .disk = DiskNeed::poisoned,
    .run = run,
};

}  // namespace holdfast::cases
