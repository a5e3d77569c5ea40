// Reads and buffered writes with RWF_NOWAIT, while the disk holds what they would have to wait for.
// Contract: such a call never waits, for the disk or for a lock; it does what it can at once and says how much that was, or
// EAGAIN (preadv2(2), RWF_NOWAIT), and 0 from a read means the end of file.
#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cases/case.h"
#include "cases/stale_data/shared/judged_read.h"
#include "fixtures/base/failure.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/ageing.h"
#include "fixtures/io/blocking.h"
#include "fixtures/io/file_state.h"
#include "fixtures/io/warm_up.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {
namespace {

/// In which the call comes upon the file.
enum class Scene {
    /// None of its pages are in memory; all that it is for are.
    cold,
    cached,
    /// The same, and a buffered write to a part of a block that is not in memory has the file's lock and waits for the disk.
    beside_writer,
    /// The pages that it is for are being written back.
    under_writeback
};
constexpr std::array scenes{std::pair{Scene::cold, "cold"}, std::pair{Scene::cached, "in memory"},
                            std::pair{Scene::beside_writer, "beside a writer"},
                            std::pair{Scene::under_writeback, "under writeback"}};

/// Of a file of eight blocks of data, four of hole and four preallocated ones. In bytes, of blocks of `unit`.
struct Place {
    const char* name;
    std::uint64_t begin;
    std::uint64_t end;
};

constexpr std::uint64_t far_block = 6;  // of data, for the writer

class Nowait {
 public:
    explicit Nowait(Experiment& experiment)
        : experiment_(experiment),
          disk_(*experiment.held_disk()),
          root_(experiment.filesystem().root()),
          unit_(direct_write_unit(experiment.filesystem())) {
        age(root_, 4 * MiB, experiment.seed());
        warm_up(root_);
    }

    void run() {
        const auto u = unit_;
        const std::array places{Place{"data", 1 * u, 4 * u},
                                Place{"a part of a block", 2 * u + 100, 2 * u + 900},
                                Place{"parts of two blocks", 2 * u + 100, 3 * u + 100},
                                Place{"data and a hole", 7 * u, 10 * u},
                                Place{"a hole", 9 * u, 11 * u},
                                Place{"preallocated blocks", 13 * u, 15 * u},
                                Place{"a part of a preallocated block", 13 * u + 100, 13 * u + 900},
                                Place{"the end of the file", 15 * u, 17 * u},
                                Place{"what lies behind the end", 16 * u, 18 * u}};
        for (const auto& place : places)
            for (const bool writes : {false, true})
                for (const auto& [scene, words] : scenes)
                    if (scene == Scene::cold || scene == Scene::cached || place.begin < 4 * u)
                        look_at(place, writes, scene,
                                fmt::format("a {} {}, {}", writes ? "write to" : "read of", place.name, words));
        experiment_.observe("waits", waits_.empty() ? "never" : waits_.front(), {{"all", waits_}, {"where", where_}});
        experiment_.observe("answers", wrong_.empty() ? "right" : wrong_.front(),
                            {{"wrong", wrong_}, {"all", answers_}});
        experiment_.filesystem().remount();
        for (const auto& content : contents_) judge_whole_file(path(content), content, findings_);
        observe_findings(experiment_, findings_, {{"files", contents_.size()}});
    }

 private:
    [[nodiscard]] std::filesystem::path path(const FileContent& content) const {
        return root_ / fmt::format("file-{}", content.file());
    }

    FileContent& create() {
        auto& content = contents_.emplace_back(static_cast<std::uint32_t>(contents_.size() + 1));
        const FileState whole{.written = 8 * unit_, .allocated = FileState::Allocation{0, {12 * unit_, 16 * unit_}}};
        const FileState sparse{.written = 8 * unit_, .truncated = 16 * unit_};
        const auto probe = File::create(path(content));
        const auto& state = probe.fallocate(0, 0, unit_) == 0 ? whole : sparse;
        std::filesystem::remove(path(content));
        const auto file = File::create(path(content));
        if (const int error = bring_into(file, state, {content.file(), 1}); error != 0)
            throw SystemFailure("fallocate of " + file.path().string(), error);
        expect_state(content, state, 1);
        file.sync();
        file.drop_cache();
        return content;
    }

    void look_at(const Place& place, bool writes, Scene scene, const std::string& what) {
        auto& content = create();
        const auto file = File::open(path(content), O_RDWR);
        if (const int error = ::posix_fadvise(file.descriptor(), 0, 0, POSIX_FADV_RANDOM); error != 0)
            throw SystemFailure("posix_fadvise of " + file.path().string(), error);
        const auto size = file.size();
        const Range range{place.begin, place.end};
        std::vector<std::byte> bytes(range.length());
        if (scene != Scene::cold) (void)file.read_at(range.begin, bytes);
        if (writes) fill_data(bytes, {content.file(), 4}, range.begin);
        const Range dirty{2 * unit_, 3 * unit_};
        if (scene == Scene::under_writeback) put(file, content, dirty);
        std::vector<std::byte> part(sector_size);
        const Range written{far_block * unit_ + sector_size, far_block * unit_ + 2 * sector_size};
        fill_data(part, {content.file(), 3}, written.begin);
        std::optional<WatchedCall> beside;
        std::optional<WatchedCall> call;
        // A write that has the file's times to change cannot be done at once.
        checked(::futimens(file.descriptor(), nullptr), "setting the times of " + file.path().string());
        {
            // Calls end only when nothing is held any more: so the hold ends before them, whatever happens.
            const auto hold = disk_.hold({.reads = true, .data_only = true});
            if (scene == Scene::beside_writer)
                beside.emplace(SYS_pwrite64, [&] {
                    return ::pwrite(file.descriptor(), part.data(), part.size(), static_cast<off_t>(written.begin));
                });
            if (scene == Scene::under_writeback)
                beside.emplace(SYS_sync_file_range, [&] {
                    return ::sync_file_range(file.descriptor(), static_cast<off64_t>(dirty.begin),
                                             static_cast<off64_t>(dirty.length()), SYNC_FILE_RANGE_WRITE);
                });
            if (beside) (void)wait_for_return_or_block(*beside, disk_);
            call.emplace(writes ? SYS_pwritev2 : SYS_preadv2, [&] { return carry_out(file, writes, range, bytes); });
            if (const auto blocked = wait_for_return_or_block(*call, disk_)) {
                waits_.push_back(what);
                where_.push_back(blocked->where.value_or("not told"));
            }
            hold->release();
        }
        if (scene == Scene::beside_writer) {
            if (beside->result() != static_cast<long>(part.size()))
                throw SystemFailure("pwrite to " + file.path().string(), EIO);
            content.submit(written, 3);
            content.acknowledge(written, 3);
        }
        const auto result = call->result();
        answers_.push_back(fmt::format("{}: {}", what, words_of(result)));
        writes ? judge_write(file, content, range, result, size, what)
               : judge_read_of(content, range, result, size, bytes, what);
        judge_whole_file(path(content), content, findings_);
    }

    static void put(const File& file, FileContent& content, Range range) {
        std::vector<std::byte> data(range.length());
        fill_data(data, {content.file(), 2}, range.begin);
        content.submit(range, 2);
        file.write_at(range.begin, data);
        content.acknowledge(range, 2);
    }

    // Bytes, or a negative errno.
    static long carry_out(const File& file, bool writes, Range range, std::span<std::byte> bytes) {
        const iovec vector{bytes.data(), bytes.size()};
        const auto offset = static_cast<off_t>(range.begin);
        const auto count = writes ? ::pwritev2(file.descriptor(), &vector, 1, offset, RWF_NOWAIT)
                                  : ::preadv2(file.descriptor(), &vector, 1, offset, RWF_NOWAIT);
        return count < 0 ? -errno : count;
    }

    static std::string words_of(long result) {
        return result < 0 ? error_name(static_cast<int>(-result)) : fmt::format("{} bytes", result);
    }

    void expect(bool right, const std::string& what, long result) {
        if (!right) wrong_.push_back(fmt::format("{} gave {}", what, words_of(result)));
    }

    void judge_read_of(const FileContent& content, Range range, long result, std::uint64_t size,
                       std::span<const std::byte> bytes, const std::string& what) {
        const auto most = range.begin < size ? std::min(range.end, size) - range.begin : 0;
        if (result <= 0) return expect(result == 0 ? most == 0 : is_refusal(result), what, result);
        expect(static_cast<std::uint64_t>(result) <= most, what, result);
        const Range read{range.begin, range.begin + static_cast<std::uint64_t>(result)};
        const auto allowed = content.allowed(read, size, View::cached);
        judge_read(content, "a reader with RWF_NOWAIT", read.begin, bytes.first(read.length()), allowed, allowed,
                   findings_);
    }

    void judge_write(const File& file, FileContent& content, Range range, long result, std::uint64_t size,
                     const std::string& what) {
        expect(result > 0 ? static_cast<std::uint64_t>(result) <= range.length() : is_refusal(result), what, result);
        const Range there{range.begin, range.begin + static_cast<std::uint64_t>(std::max(result, 0L))};
        if (result > 0) {
            content.submit(there, 4);
            content.acknowledge(there, 4);
        }
        const auto right = result > 0 ? std::max(size, there.end) : size;
        if (const auto now = file.size(); now != right)
            wrong_.push_back(fmt::format("the file has {} bytes in place of {} after {}", now, right, what));
    }

    static bool is_refusal(long result) { return result == -EAGAIN || result == -EOPNOTSUPP; }

    Experiment& experiment_;
    HeldDisk& disk_;
    std::filesystem::path root_;
    std::uint64_t unit_;
    std::deque<FileContent> contents_;
    std::vector<std::string> waits_;
    std::vector<std::string> where_;
    std::vector<std::string> wrong_;
    std::vector<std::string> answers_;
    Findings findings_;
};

void run(Experiment& experiment) { Nowait{experiment}.run(); }

}  // namespace

extern const Case stale_data_nowait;
const Case stale_data_nowait{
    .name = "stale_data.nowait",
    .summary =
        "reads, and writes through the page cache, with RWF_NOWAIT while the disk holds all that they would need",
    .method =
        "On an aged disk on which every sector says where it came from, preadv2 and pwritev2 with RWF_NOWAIT go, "
        "through the page cache, to data, parts of blocks, a hole, preallocated blocks and the end of file, in memory "
        "and not, beside a writer that has the file's lock and waits for the disk, and under writeback, while the disk "
        "holds all reads and writes of data. None may wait. What a read returns must be right, and 0 only at the end "
        "of file; of a write, just as much as it returned must be there, for every reader, also after a remount.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
