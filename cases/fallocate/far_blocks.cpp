// Single blocks far apart: at the borders between the levels of a block map, and up to the largest size of a file.
// Contract: a far offset is like any other: what was written is there (write(2)), holes read as zeros and are told
// (lseek(2)), and PUNCH_HOLE takes out its range and nothing else (fallocate(2)).
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "cases/fallocate/shared/file_size_limit.h"
#include "fixtures/base/failure.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/file.h"
#include "fixtures/pattern/oracle.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {

using namespace holdfast::fallocate;

namespace {

// A file of single blocks, each of which is there or has been punched out.
class FarBlocks {
 public:
    FarBlocks(std::filesystem::path path, std::uint32_t number, std::uint64_t block)
        : path_(std::move(path)), number_(number), block_(block), file_(File::create(path_)) {}

    void write(std::uint64_t offset) {
        std::vector<std::byte> data(block_);
        fill_data(data, {number_, 1}, offset);
        file_->write_at(offset, data);
        blocks_[offset] = true;
    }
    void write_direct(std::uint64_t offset) {
        AlignedBuffer data{block_};
        fill_data(data.bytes(), {number_, 1}, offset);
        File::open(path_, O_RDWR | O_DIRECT).write_at(offset, data.bytes());
        blocks_[offset] = true;
    }
    // 0, or the errno.
    [[nodiscard]] int punch(std::uint64_t begin, std::uint64_t end) {
        const int error = file_->fallocate(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, begin, end - begin);
        if (error != 0) return error;
        for (auto& [offset, there] : blocks_)
            if (offset >= begin && offset + block_ <= end) there = false;
        return 0;
    }
    void cut(std::uint64_t size) {
        file_->truncate(size);
        for (auto& [offset, there] : blocks_) there = there && offset + block_ <= size;
    }
    void grow(std::uint64_t size) { file_->truncate(size); }
    void drop_cache() {
        file_->sync();
        file_->drop_cache();
    }
    // Across which its filesystem may be mounted afresh.
    void close() { file_.reset(); }
    void reopen() { file_ = File::open(path_, O_RDWR); }

    [[nodiscard]] const File& file() const { return *file_; }
    // In bytes.
    [[nodiscard]] std::uint64_t allocated() const {
        struct stat status {};
        checked(::fstat(file_->descriptor(), &status), "fstat of " + path_.string());
        return static_cast<std::uint64_t>(status.st_blocks) * sector_size;
    }

    // What is wrong with the first block that is; empty where none is.
    [[nodiscard]] std::string judge(int flags = 0) const {
        const auto reader = File::open(path_, O_RDONLY | flags);
        AlignedBuffer found{block_};
        for (const auto& [offset, there] : blocks_) {
            const auto count = reader.read_at(offset, found.bytes());
            const auto bytes = found.bytes().first(count);
            if (there ? count == block_ && is_data(bytes, {number_, 1}, offset) : is_zeros(bytes)) continue;
            return fmt::format(
                "{} at offset {}, which {}",
                count < sector_size ? fmt::format("{} bytes", count) : describe(identify(bytes.first<sector_size>())),
                offset, there ? "was written" : "is a hole");
        }
        return {};
    }

    // The same of lseek(2), asked from every block and from behind it: it may tell of data where there is none, but never of
    // a hole where there is data.
    [[nodiscard]] std::string judge_seeks() const {
        std::uint64_t from = 0;
        for (const auto& [offset, there] : blocks_) {
            if (!there) continue;
            for (const auto start : {from, offset})
                if (auto wrong = judge_seek(SEEK_DATA, "SEEK_DATA", start, {start, offset}); !wrong.empty())
                    return wrong;
            from = offset + block_;
            const auto end = file_->size();
            if (auto wrong = judge_seek(SEEK_HOLE, "SEEK_HOLE", offset, {from, end}); !wrong.empty()) return wrong;
        }
        return {};
    }

 private:
    [[nodiscard]] std::string judge_seek(int whence, const char* name, std::uint64_t start, Range right) const {
        const auto found = ::lseek(file_->descriptor(), static_cast<off_t>(start), whence);
        if (found >= static_cast<off_t>(right.begin) && found <= static_cast<off_t>(right.end)) return {};
        return fmt::format("{} from {} gives {} in place of {} to {}", name, start,
                           found < 0 ? error_name(errno) : std::to_string(found), right.begin, right.end);
    }

    std::filesystem::path path_;
    std::uint32_t number_;
    std::uint64_t block_;
    std::optional<File> file_;
    std::map<std::uint64_t, bool> blocks_;
};

class Judged {
 public:
    Judged(Experiment& experiment, std::string name) : experiment_(experiment), name_(std::move(name)) {}
    // Of what is wrong, the first.
    void add(const std::string& when, const std::string& what) {
        ++checks_;
        if (first_.empty() && !what.empty()) first_ = fmt::format("{}: {}", when, what);
    }
    void observe() {
        experiment_.observe(name_, first_.empty() ? "right" : "wrong", {{"first", first_}, {"checks", checks_}});
    }

 private:
    Experiment& experiment_;
    std::string name_;
    std::string first_;
    std::uint64_t checks_ = 0;
};

// Blocks on both sides of where one more level of a map of 32 bit block numbers begins, as ext3 has it: 12 blocks, then a
// block of pointers, a block of such blocks, and one of these.
std::vector<std::uint64_t> borders_of_levels(std::uint64_t block, std::uint64_t largest) {
    const auto pointers = block / 4;
    const auto second = 12 + pointers;
    const auto third = second + pointers * pointers;
    std::vector<std::uint64_t> borders;
    for (const auto number : {std::uint64_t{0}, std::uint64_t{11}, std::uint64_t{12}, second - 1, second,
                              second + pointers - 1, second + pointers, third - 1, third, third + pointers - 1,
                              third + pointers, third + pointers * pointers - 1, third + pointers * pointers})
        if ((number + 1) * block <= largest) borders.push_back(number * block);
    return borders;
}

// Everything that one border and another one can have between them.
void punch_between_levels(Experiment& experiment, std::uint64_t block) {
    FarBlocks file{experiment.filesystem().root() / "levels", 1, block};
    const auto borders = borders_of_levels(block, largest_size(file.file()));
    Judged content{experiment, "content between levels"};
    for (const auto offset : borders) file.write(offset);
    file.drop_cache();
    content.add("written", file.judge());
    for (std::size_t first = 0; first < borders.size(); ++first)
        for (std::size_t last = first; last < borders.size(); ++last) {
            const auto end = borders[last] + block;
            const auto when = fmt::format("after PUNCH_HOLE of bytes {} to {}", borders[first], end);
            if (const int error = file.punch(borders[first], end); error != 0) content.add(when, error_name(error));
            content.add(when, file.judge());
            file.drop_cache();
            content.add(when, file.judge(O_DIRECT));
            for (auto punched = first; punched <= last; ++punched) file.write(borders[punched]);
            file.drop_cache();
        }
    content.add("written again", file.judge());
    content.observe();
    if (const int error = file.punch(0, borders.back() + block); error != 0)
        throw SystemFailure("PUNCH_HOLE of all", error);
    // What is allocated behind the end of file in advance goes when the file is closed.
    file.file().sync();
    file.close();
    file.reopen();
    experiment.observe("bytes allocated after PUNCH_HOLE of all", file.allocated());
    file.cut(0);
    file.file().sync();
    experiment.observe("bytes allocated after ftruncate", file.allocated());
}

void write_up_to_the_largest_size(Experiment& experiment, std::uint64_t block) {
    FarBlocks file{experiment.filesystem().root() / "far", 2, block};
    const auto largest = largest_size(file.file());
    const auto last = largest / block * block - block;
    for (std::uint64_t offset = 64 * KiB; offset < last; offset *= 2) file.write(offset);
    file.write_direct(last - block);
    file.write_direct(last);
    Judged content{experiment, "content up to the largest size"};
    Judged seeks{experiment, "data and holes up to the largest size"};
    const auto judge = [&](const std::string& when) {
        content.add(when, file.judge());
        content.add(when, file.judge(O_DIRECT));
        seeks.add(when, file.judge_seeks());
    };
    judge("written");
    file.file().sync();
    judge("synced");
    file.close();
    experiment.filesystem().remount();
    file.reopen();
    judge("after a remount");
    file.cut(last / 2);
    file.grow(largest);
    judge("cut in half and grown");
    file.write(last);
    if (const int error = file.punch(64 * KiB, last); error != 0)
        throw SystemFailure("PUNCH_HOLE of all but one", error);
    judge("punched but for the last");
    content.observe();
    seeks.observe();
}

void run(Experiment& experiment) {
    const auto cluster = allocation_units(experiment.filesystem()).cluster;
    punch_between_levels(experiment, cluster);
    write_up_to_the_largest_size(experiment, std::max(cluster, direct_write_unit(experiment.filesystem())));
}

}  // namespace

extern const Case fallocate_far_blocks;
const Case fallocate_far_blocks{
    .name = "fallocate.far_blocks",
    .summary = "writes and punches single blocks at the borders of a block map's levels and up to the largest size",
    .method =
        "Single blocks are written on both sides of each border at which a map of single, double and triple indirect "
        "blocks begins a new level; then everything from each of them to each other one is punched out, read through "
        "the page cache and directly, and written again; at the end all is punched out, and nothing may be left "
        "allocated. In another file, blocks are written at every power of two up to the largest size that ftruncate "
        "takes, and read, and lseek is asked for data and holes from each to the next, before and after a sync and a "
        "remount, after the file was cut in half and grown again, and after all but the last block was punched out.",
    .run = run,
};

}  // namespace holdfast::cases
