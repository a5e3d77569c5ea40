// Writes into every second preallocated block when the disk is full.
// Contract: the blocks between read as zeros, as they did before, whatever space the splitting of extents finds.
#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "cases/fallocate/shared/space.h"
#include "cases/stale_data/shared/judged_read.h"
#include "fixtures/base/aligned_buffer.h"
#include "fixtures/base/failure.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/ageing.h"
#include "fixtures/io/file.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {

using namespace holdfast::fallocate;

namespace {

// More extents than the inode and one leaf of an extent tree hold, when every second one is written.
constexpr std::uint64_t blocks = 1000;

struct SplitFile {
    const char* name;
    int flags;
};
constexpr std::array split_files{SplitFile{"direct writes", O_DIRECT}, SplitFile{"buffered writes", 0}};

class Split {
 public:
    explicit Split(Experiment& experiment)
        : experiment_(experiment),
          root_(experiment.filesystem().root()),
          unit_(direct_write_unit(experiment.filesystem())) {
        age(root_, 16 * MiB, experiment.seed());
    }

    void run() {
        for (std::uint32_t i = 0; i < split_files.size(); ++i) preallocate(i);
        const auto block = allocation_units(experiment_.filesystem()).block;
        fill(File::create(root_ / "ballast"), block, experiment_.recipe().size);
        for (std::uint32_t i = 0; i < split_files.size(); ++i) write_every_second(i);
        for (const auto& content : contents_) judge(content);
        experiment_.filesystem().remount();
        for (const auto& content : contents_) judge(content);
        observe_findings(experiment_, findings_);
        experiment_.observe("answers", wrong_.empty() ? "right" : wrong_.front(), {{"all", wrong_}});
    }

 private:
    [[nodiscard]] std::filesystem::path path(std::uint32_t index) const {
        return root_ / fmt::format("file-{}", index + 1);
    }
    void judge(const FileContent& content) { judge_whole_file(path(content.file() - 1), content, findings_); }

    void preallocate(std::uint32_t index) {
        const auto file = File::create(path(index));
        const int error = file.fallocate(0, 0, blocks * unit_);
        if (error == EOPNOTSUPP) experiment_.skip("fallocate(2) is not supported here");
        if (error != 0) throw SystemFailure("fallocate of " + file.path().string(), error);
        file.sync();
        contents_.emplace_back(index + 1).resized(blocks * unit_);
    }

    void write_every_second(std::uint32_t index) {
        const auto& [name, flags] = split_files.at(index);
        auto& content = contents_.at(index);
        const auto file = File::open(path(index), O_RDWR | flags);
        AlignedBuffer data{unit_};
        for (std::uint64_t begin = unit_; begin < blocks * unit_; begin += 2 * unit_) {
            const Range range{begin, begin + unit_};
            fill_data(data.bytes(), {content.file(), 1}, begin);
            content.submit(range, 1);
            const auto count = ::pwrite(file.descriptor(), data.bytes().data(), unit_, static_cast<off_t>(begin));
            if (count == static_cast<ssize_t>(unit_)) {
                content.acknowledge(range, 1);
            } else {
                wrong_.push_back(fmt::format("{}: {} at block {}", name,
                                             count < 0 ? error_name(errno) : fmt::format("{} bytes", count),
                                             begin / unit_));
                content.give_up(range, 1);
            }
        }
        if (::fsync(file.descriptor()) != 0) wrong_.push_back(fmt::format("{}: fsync {}", name, error_name(errno)));
    }

    Experiment& experiment_;
    std::filesystem::path root_;
    std::uint64_t unit_;
    std::deque<FileContent> contents_;
    Findings findings_;
    std::vector<std::string> wrong_;
};

void run(Experiment& experiment) { Split{experiment}.run(); }

}  // namespace

extern const Case stale_data_split_on_full_disk;
const Case stale_data_split_on_full_disk{
    .name = "stale_data.split_on_full_disk",
    .summary = "writes into every second preallocated block of a full disk, and reads the blocks between",
    .method =
        "On an aged disk, two files of 1000 blocks are preallocated and the rest of the space is taken; then every "
        "second block of one is written directly, of the other through the page cache. Each write splits an unwritten "
        "extent, and the tree that holds them needs blocks that there are none of: no write may fail for that, and "
        "none may make a neighbour written, which would show what the disk had there before. All is read directly, "
        "buffered, mapped and by pipe, and again after a remount.",
    .disk = DiskNeed::poisoned,
    .run = run,
};

}  // namespace holdfast::cases
