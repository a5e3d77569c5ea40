// Writes with RWF_ATOMIC of every size around the limits that statx(2) tells.
// Contract: within the limits they work, wherever in a file they go; outside of them they are EINVAL, and where there are no
// limits, or the descriptor is not O_DIRECT, EOPNOTSUPP, and nothing has changed (pwritev2(2), statx(2)).
#include "fixtures/io/atomic_write.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <deque>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/uio.h>

#include "cases/case.h"
#include "cases/stale_data/shared/judged_read.h"
#include "fixtures/base/failure.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/ageing.h"
#include "fixtures/io/clone.h"
#include "fixtures/io/file_state.h"
#include "fixtures/io/rwf.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {
namespace {

constexpr auto size = MiB;
constexpr auto largest = 4 * MiB;
constexpr std::uint32_t old_generation = 1;
constexpr std::uint32_t new_generation = 2;
// What is tried where statx offers nothing.
constexpr AtomicLimits no_limits{.least = 4096, .most = 16384, .most_of_disk = 0, .segments = 1};

std::string judge_limits(const AtomicLimits& limits) {
    const auto& [least, most, of_disk, segments] = limits;
    if (!std::has_single_bit(least) || !std::has_single_bit(most))
        return fmt::format("{} and {} bytes, which are no powers of two", least, most);
    if (least > most) return fmt::format("at least {} and at most {} bytes", least, most);
    if (of_disk != 0 && (of_disk < least || of_disk > most))
        return fmt::format("{} to {} bytes, {} by the disk itself", least, most, of_disk);
    if (segments == 0) return "no segments";
    return "consistent";
}

class AtomicWrite {
 public:
    explicit AtomicWrite(Experiment& experiment) : experiment_(experiment), root_(experiment.filesystem().root()) {
        age(root_, 4 * MiB, experiment.seed());
        const auto found = atomic_limits(File::create(root_ / "probe", O_DIRECT));
        offered_ = found.has_value();
        limits_ = found.value_or(no_limits);
    }

    void run() {
        experiment_.observe("limits", offered_ ? judge_limits(limits_) : "none",
                            {{"least", limits_.least},
                             {"most", limits_.most},
                             {"most_of_disk", limits_.most_of_disk},
                             {"segments", limits_.segments}});
        const auto unit = std::max<std::uint64_t>(limits_.least, direct_write_unit(experiment_.filesystem()));
        const FileState data{.written = size};
        const std::array states{
            FileState{.written = size},
            FileState{.written = unit, .truncated = size},
            FileState{.written = unit, .allocated = FileState::Allocation{0, {0, size}}},
            FileState{.written = size - unit, .pieces = unit, .truncated = size},
            FileState{.written = size, .cloned = true},
        };
        if (offered_)
            for (const auto& state : states)
                for (const auto way : all_atomic_ways) write_into(state, way);
        const int refused = offered_ ? EINVAL : EOPNOTSUPP;
        for (const auto way : all_atomic_ways) {
            (void)begin(data);
            if (limits_.least > sector_size) write(way, 0, limits_.least / 2, refused);
            write(way, 0, 3 * std::uint64_t{limits_.least}, refused);
            write(way, limits_.least, 2 * std::uint64_t{limits_.least}, refused);
            if (limits_.most <= largest) {
                write(way, 0, 2 * std::uint64_t{limits_.most}, refused);
                write(way, 0, limits_.most, offered_ ? 0 : EOPNOTSUPP);
            }
            write(way, size + limits_.least, 2 * std::uint64_t{limits_.least}, refused);
        }
        write_segments(refused);
        write_buffered();
        experiment_.observe("answers", wrong_.empty() ? "right" : wrong_.front(), {{"all", wrong_}, {"tried", tried_}});
        experiment_.filesystem().remount();
        for (const auto& content : contents_) judge_whole_file(path(content), content, findings_);
        observe_findings(experiment_, findings_, {{"files", contents_.size()}});
    }

 private:
    [[nodiscard]] std::filesystem::path path(const FileContent& content) const {
        return root_ / fmt::format("file-{}", content.file());
    }

    // A file for what follows. False where the filesystem has no such files.
    bool begin(const FileState& state) {
        auto& content = contents_.emplace_back(static_cast<std::uint32_t>(contents_.size() + 1));
        const auto file = File::create(path(content), O_DIRECT);
        if (bring_into(file, state, {content.file(), old_generation}) == EOPNOTSUPP) {
            std::filesystem::remove(path(content));
            contents_.pop_back();
            return false;
        }
        file.sync();
        expect_state(content, state, old_generation);
        return true;
    }

    void write_into(const FileState& state, AtomicWay way) {
        if (!begin(state)) return;
        for (std::uint64_t length = limits_.least; length <= std::min<std::uint64_t>(limits_.most, size / 2);
             length *= 4)
            write(way, length, length, 0);
        write(way, size, limits_.least, 0);
    }

    // `result`: bytes, or a negative errno. `expected`: 0 where all was to be written, else an errno.
    void judge(const std::string& what, Range range, std::int64_t result, int expected, std::uint64_t size_before) {
        ++tried_;
        auto& content = contents_.back();
        const auto wanted = static_cast<std::int64_t>(range.length());
        if (result != (expected == 0 ? wanted : -expected))
            wrong_.push_back(fmt::format("{} gave {}", what,
                                         result < 0 ? error_name(static_cast<int>(-result)) : std::to_string(result)));
        const Range there{range.begin, range.begin + static_cast<std::uint64_t>(std::max<std::int64_t>(result, 0))};
        if (result > 0) {
            content.submit(there, new_generation);
            content.acknowledge(there, new_generation);
        }
        const auto now = File::open(path(content), O_RDONLY).size();
        if (const auto right = result > 0 ? std::max(size_before, there.end) : size_before; now != right)
            wrong_.push_back(fmt::format("the file has {} bytes in place of {} after {}", now, right, what));
        judge_whole_file(path(content), content, findings_);
    }

    void write(AtomicWay way, std::uint64_t offset, std::uint64_t length, int expected) {
        const auto file = File::open(path(contents_.back()), O_RDWR | O_DIRECT);
        AlignedBuffer bytes{length};
        fill_data(bytes.bytes(), {contents_.back().file(), new_generation}, offset);
        const auto before = file.size();
        if (const auto result = write_atomically(way, file, offset, bytes.bytes()))
            judge(fmt::format("{} of {} bytes at offset {}", describe(way), length, offset), {offset, offset + length},
                  *result, expected, before);
    }

    // From one segment more than may be.
    void write_segments(int refused) {
        const auto segments = std::uint64_t{limits_.segments} + 1;
        const auto length = std::bit_ceil(std::max<std::uint64_t>(limits_.least, segments * sector_size));
        if (length > limits_.most || segments > static_cast<std::uint64_t>(IOV_MAX)) return;
        (void)begin({.written = size});
        const auto file = File::open(path(contents_.back()), O_RDWR | O_DIRECT);
        AlignedBuffer bytes{length};
        fill_data(bytes.bytes(), {contents_.back().file(), new_generation}, 0);
        std::vector<iovec> parts;
        for (std::uint64_t i = 0; i < segments; ++i)
            parts.push_back(
                {bytes.bytes().data() + i * sector_size, i + 1 < segments ? sector_size : length - i * sector_size});
        const auto before = file.size();
        const auto count = ::pwritev2(file.descriptor(), parts.data(), static_cast<int>(parts.size()), 0, rwf_atomic);
        judge(fmt::format("pwritev2 of {} segments", segments), {0, length}, count < 0 ? -errno : count, refused,
              before);
    }

    void write_buffered() {
        (void)begin({.written = size});
        const auto file = File::open(path(contents_.back()), O_RDWR);
        std::vector<std::byte> bytes(limits_.least);
        fill_data(bytes, {contents_.back().file(), new_generation}, 0);
        const auto before = file.size();
        const auto result = write_atomically(AtomicWay::call, file, 0, bytes);
        judge("a buffered pwritev2", {0, bytes.size()}, result.value_or(0), EOPNOTSUPP, before);
    }

    Experiment& experiment_;
    std::filesystem::path root_;
    bool offered_ = false;
    AtomicLimits limits_{};
    std::deque<FileContent> contents_;
    Findings findings_;
    std::vector<std::string> wrong_;
    unsigned tried_ = 0;
};

void run(Experiment& experiment) { AtomicWrite{experiment}.run(); }

}  // namespace

extern const Case stale_data_atomic_write;
const Case stale_data_atomic_write{
    .name = "stale_data.atomic_write",
    .summary =
        "writes with RWF_ATOMIC, in sizes around the limits that statx tells, and looks at what it made of the file",
    .method =
        "statx tells the smallest and the largest write with RWF_ATOMIC. On a poisoned disk such writes, of sizes from "
        "one to the other, by pwritev2, io_submit and io_uring, go onto data, into a hole, into preallocated blocks, "
        "onto data and holes in turn, onto shared blocks, and to the end of file. Then those that must be refused: too "
        "small, too large, no power of two, not at a multiple of their size, from too many segments, through the page "
        "cache. After each the count or the errno must be right, and so the size and all of the content, for every "
        "reader, also after a remount. Where statx offers nothing, all must be EOPNOTSUPP.",
    .needs = {{"feature", "aio"}},
    .disk = DiskNeed::poisoned,
    .run = run,
};

}  // namespace holdfast::cases
