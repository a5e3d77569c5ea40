// A buffered write that sleeps in its middle, while others change the blocks that it has yet to come to.
// Contract: a write puts its own bytes into the file and changes no other (write(2)): what was there before, and what
// others have stored meanwhile, is there when it has ended, also where it ended early.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cases/case.h"
#include "cases/stale_data/shared/judged_read.h"
#include "fixtures/base/failure.h"
#include "fixtures/base/missing_page.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/ageing.h"
#include "fixtures/io/blocking.h"
#include "fixtures/io/clone.h"
#include "fixtures/io/mapping.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {
namespace {

/// What lies under the write.
enum class Under { preallocated, hole, data, shared };
constexpr std::array unders{std::pair{Under::preallocated, "preallocated blocks"}, std::pair{Under::hole, "a hole"},
                            std::pair{Under::data, "data"}, std::pair{Under::shared, "shared blocks"}};

/// What happens behind the place where the write sleeps, once the last block of it was written back and dropped; where it
/// ends early, all is still dirty.
enum class Meanwhile { nothing, store, punch, allocate, direct_write, end_early };
constexpr std::array meanwhiles{std::pair{Meanwhile::nothing, "pages dropped"},
                                std::pair{Meanwhile::store, "stores of a mapping"},
                                std::pair{Meanwhile::punch, "a punch"},
                                std::pair{Meanwhile::allocate, "a fallocate"},
                                std::pair{Meanwhile::direct_write, "a direct write"},
                                std::pair{Meanwhile::end_early, "an end before its time"}};

// A pwrite(2) of a thread of its own, which waits for a page of its memory.
class SleepingWrite {
 public:
    SleepingWrite(const File& file, std::span<const std::byte> memory, std::size_t length, std::size_t missing)
        : memory_(memory, missing), thread_([this, &file, length] {
              result_ = ::pwrite(file.descriptor(), memory_.bytes().data(), length, 0);
              if (result_ < 0) result_ = -errno;
          }) {}
    SleepingWrite(const SleepingWrite&) = delete;
    SleepingWrite& operator=(const SleepingWrite&) = delete;
    ~SleepingWrite() {
        if (!thread_.joinable()) return;
        memory_.supply();
        thread_.join();
    }

    [[nodiscard]] bool sleeps() const { return memory_.wait_for_fault(std::chrono::seconds{10}); }
    /// Bytes, or a negative errno.
    std::int64_t finish(bool early) {
        if (early)
            memory_.take_away();
        else
            memory_.supply();
        thread_.join();
        return result_;
    }

 private:
    MissingPage memory_;
    std::int64_t result_ = 0;
    std::thread thread_;
};

class StaleMapping {
 public:
    explicit StaleMapping(Experiment& experiment)
        : experiment_(experiment),
          root_(experiment.filesystem().root()),
          unit_(direct_write_unit(experiment.filesystem())),
          written_{0, 9 * unit_ + unit_ / 2},
          tail_{written_.end, 10 * unit_},
          behind_{10 * unit_, 12 * unit_} {
        age(root_, 4 * MiB, experiment.seed());
    }

    void run() {
        for (const auto& [under, under_name] : unders)
            for (const auto& [meanwhile, name] : meanwhiles)
                for (const std::uint64_t sleeps_at : {0, 4})
                    look_at(under, meanwhile, sleeps_at * unit_, fmt::format("{} over {}", name, under_name));
        experiment_.observe("answers", wrong_.empty() ? "right" : wrong_.front(), {{"all", wrong_}});
        experiment_.filesystem().remount();
        for (const auto& content : contents_) judge_whole_file(path(content), content, findings_);
        observe_findings(experiment_, findings_, {{"files", contents_.size()}});
    }

 private:
    [[nodiscard]] std::filesystem::path path(const FileContent& content) const {
        return root_ / fmt::format("file-{}", content.file());
    }

    static void write(const File& file, FileContent& content, Range range, std::uint32_t generation) {
        AlignedBuffer data{range.length()};
        fill_data(data.bytes(), {content.file(), generation}, range.begin);
        content.submit(range, generation);
        file.write_at(range.begin, data.bytes());
        content.acknowledge(range, generation);
    }

    static void store(const File& file, FileContent& content, Range range) {
        const Mapping mapping{file, 0, range.end};
        content.submit(range, 3);
        fill_data(mapping.bytes().subspan(range.begin, range.length()), {content.file(), 3}, range.begin);
        content.acknowledge(range, 3);
    }

    void drop(const File& file, Range range) const {
        checked(::sync_file_range(file.descriptor(), static_cast<off64_t>(range.begin),
                                  static_cast<off64_t>(range.length()),
                                  SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER),
                "sync_file_range of " + file.path().string());
        if (const int error = ::posix_fadvise(file.descriptor(), static_cast<off_t>(range.begin),
                                              static_cast<off_t>(range.length()), POSIX_FADV_DONTNEED);
            error != 0)
            throw SystemFailure("dropping pages of " + file.path().string(), error);
    }

    // False where the filesystem has no such thing.
    bool prepare(const File& file, FileContent& content, Under under) {
        const Range all{0, behind_.end};
        file.truncate(all.end);
        content.resized(all.end);
        if (under == Under::preallocated) {
            const int error = file.fallocate(0, 0, all.end);
            if (error != 0 && error != EOPNOTSUPP) throw SystemFailure("fallocate of " + file.path().string(), error);
            if (error != 0) return false;
        }
        if (under == Under::data || under == Under::shared) write(file, content, {0, behind_.begin}, 1);
        file.sync();
        if (under == Under::shared) {
            const auto clone = File::create(root_ / fmt::format("clone-{}", content.file()));
            const int error = clone_all(file, clone);
            if (error == EOPNOTSUPP) return false;
            if (error != 0) throw SystemFailure("FICLONE of " + file.path().string(), error);
        }
        drop(file, all);
        write(file, content, tail_, 2);
        return true;
    }

    void look_at(Under under, Meanwhile meanwhile, std::uint64_t sleeps_at, const std::string& what) {
        auto& content = contents_.emplace_back(++files_);
        const auto file = File::create(path(content));
        if (!prepare(file, content, under)) return contents_.pop_back();
        const bool early = meanwhile == Meanwhile::end_early;
        const Range wanted{0, early ? sleeps_at : written_.end};
        AlignedBuffer data{10 * unit_};
        fill_data(data.bytes(), {content.file(), 2}, 0);
        if (wanted.length() > 0) content.submit(wanted, 2);
        std::int64_t result = 0;
        {
            SleepingWrite writing{file, data.bytes(), written_.length(), sleeps_at / MissingPage::page_size()};
            if (!writing.sleeps()) throw Failure("a write has not come to its missing page within 10 s");
            // Writeback turns the whole reservation of the write into blocks, and leaves nothing to give up.
            if (!early) drop(file, {9 * unit_, behind_.end});
            result = change(writing, file, content, meanwhile);
        }
        settle(content, wanted, result, early, what);
        judge_whole_file(path(content), content, findings_);
    }

    // Lets the write go on once that has happened, or waits for the write.
    std::int64_t change(SleepingWrite& writing, const File& file, FileContent& content, Meanwhile meanwhile) const {
        const auto fallocate = [&](int mode, Range range) {
            return finish_beside(writing, SYS_fallocate,
                                 [&] { return file.fallocate(mode, range.begin, range.length()); });
        };
        if (meanwhile == Meanwhile::store || meanwhile == Meanwhile::end_early) {
            store(file, content, {tail_.begin, 11 * unit_});
            if (meanwhile == Meanwhile::end_early) store(file, content, {6 * unit_, 7 * unit_});
            if (meanwhile == Meanwhile::store) drop(file, {9 * unit_, behind_.end});
        }
        if (meanwhile == Meanwhile::punch) {
            const Range punched{tail_.begin, 11 * unit_};
            const auto [result, error] = fallocate(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, punched);
            if (error == 0) content.zeroed(punched);
            return result;
        }
        if (meanwhile == Meanwhile::allocate) return fallocate(FALLOC_FL_KEEP_SIZE, behind_).first;
        if (meanwhile == Meanwhile::direct_write) {
            const auto direct = File::open(file.path(), O_RDWR | O_DIRECT);
            return finish_beside(writing, SYS_pwrite64, [&] { return write(direct, content, behind_, 2), 0L; }).first;
        }
        return writing.finish(meanwhile == Meanwhile::end_early);
    }

    // What the write and the call returned. The write goes on once the call has ended or waits for a lock. Which of the
    // two comes first changes nothing, so that a kernel that does not tell who waits is waited for only a while.
    static std::pair<std::int64_t, long> finish_beside(SleepingWrite& writing, long number,
                                                       const std::function<long()>& call) {
        constexpr int most_looks = 100;
        const WatchedCall beside{number, call};
        const auto waits = [&] {
            if (beside.returned()) return true;
            if (beside.thread() == 0) return false;
            const auto stack = KernelStack::of_thread(beside.thread());
            return stack && stack->waits_for_lock();
        };
        for (int look = 0; look < most_looks && !waits(); ++look)
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        const auto result = writing.finish(false);
        return {result, beside.result()};
    }

    void settle(FileContent& content, Range wanted, std::int64_t result, bool early, const std::string& what) {
        const auto there = static_cast<std::uint64_t>(std::max<std::int64_t>(result, 0));
        if (early ? (result < 0 ? result != -EFAULT : there > wanted.end) : there != wanted.end)
            wrong_.push_back(fmt::format("{} gave {} of {} bytes", what,
                                         result < 0 ? error_name(static_cast<int>(-result)) : std::to_string(result),
                                         wanted.end));
        if (wanted.length() == 0) return;
        if (there >= wanted.end) return content.acknowledge(wanted, 2);
        content.give_up(wanted, 2);
    }

    Experiment& experiment_;
    std::filesystem::path root_;
    std::uint64_t unit_;
    /// What is written: up to the middle of a block; the rest of that block; what is behind it.
    Range written_;
    Range tail_;
    Range behind_;
    std::uint32_t files_ = 0;
    std::deque<FileContent> contents_;
    Findings findings_;
    std::vector<std::string> wrong_;
};

void run(Experiment& experiment) { StaleMapping{experiment}.run(); }

}  // namespace

extern const Case stale_data_stale_mapping;
const Case stale_data_stale_mapping{
    .name = "stale_data.stale_mapping",
    .summary = "changes the blocks that a buffered write, which sleeps in its middle, has yet to come to",
    .method =
        "On an aged disk filled with poison, a buffered write of nine blocks and a half goes into preallocated "
        "blocks, a hole, data, and shared blocks; the other half of its last block is data already. At its first or "
        "its fifth block the write meets a page of its memory that is missing (userfaultfd) and sleeps, while the "
        "pages from its last block on are written back and dropped, and then stored to through a mapping, punched, "
        "allocated, or written directly; or the page never comes, and the write ends early, with dirty pages behind "
        "it that a mapping has stored to. No byte but its own may have changed, for any reader, also after a remount.",
    .needs = {{"feature", "write_hold"}},
    .disk = DiskNeed::poisoned,
    .run = run,
};

}  // namespace holdfast::cases
