// What a power cut can leave, of a workload that was carried out on a held disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <list>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cases/case.h"
#include "cases/experiment.h"
#include "cases/stale_data/shared/crash_model.h"
#include "fixtures/io/file.h"
#include "fixtures/pattern/oracle.h"

namespace holdfast {

/// Carries out a workload and remembers when it asked for what, by the length of the disk's log. In the end it cuts the
/// power at many points of that log, mounts what each leaves, and judges it.
class CrashTest {
 public:
    /// On an aged filesystem on a held disk.
    explicit CrashTest(Experiment& experiment);
    CrashTest(const CrashTest&) = delete;
    CrashTest& operator=(const CrashTest&) = delete;

    [[nodiscard]] HeldDisk& disk() { return disk_; }

    /// Calls may be made by several threads, on the understanding that a sync promises what had returned before it began.
    class WrittenFile {
     public:
        WrittenFile(CrashTest& test, std::uint32_t number);

        /// At `range.begin`, with O_DIRECT or through the page cache.
        void write_direct(Range range);
        void write_buffered(Range range);
        /// As write_direct. False where there is no space (ENOSPC).
        [[nodiscard]] bool write_direct_if_space(Range range);
        /// With O_DIRECT and RWF_DSYNC; the promise holds from when it returns, for this and all before it, so use it only
        /// where everything before it was promised.
        void write_dsync(Range range);
        /// The same through the page cache, with RWF_DSYNC and on a descriptor of O_SYNC.
        void write_buffered_dsync(Range range);
        void write_o_sync(Range range);
        /// fallocate(2) with 0 or KEEP_SIZE; with a mode that turns the range into zeros. False where the filesystem does
        /// not have the mode.
        [[nodiscard]] bool allocate(int mode, Range range);
        [[nodiscard]] bool zero(int mode, Range range);
        /// As allocate, on a descriptor of O_SYNC: the promise holds from when it returns.
        [[nodiscard]] bool allocate_synchronously(int mode, Range range);
        /// fallocate(2) with COLLAPSE_RANGE or INSERT_RANGE. False where the filesystem does not have the mode.
        [[nodiscard]] bool collapse(Range range);
        [[nodiscard]] bool insert(Range range);
        void truncate(std::uint64_t size);
        /// The end of file, as far as calls have returned.
        [[nodiscard]] std::uint64_t size() const { return size_; }
        /// FICLONE: all that `source` holds. False where the filesystem does not have it.
        [[nodiscard]] bool clone(const WrittenFile& source);
        /// rename(2) to the name of `replaced`, and fsync of the directory: what is under that name then is one of the
        /// two, whole, and from the sync on it is this one.
        void rename_over(WrittenFile& replaced);
        /// Sync what was asked for of this file. The promise holds from when they return.
        void fsync();
        void fdatasync();
        void aio_fdsync();
        void syncfs();

     private:
        friend class CrashTest;
        struct Event {
            /// The length of the log when it was asked for, or when a promise was made.
            std::uint64_t at = 0;
            enum class Kind { write, zero, resize, collapse, insert, clone, promise } kind;
            Range range{};
            std::uint32_t generation = 0;
            const WrittenFile* source = nullptr;
            /// Of a promise: how many of the events before it are promised.
            std::size_t covers = 0;
        };
        // By the length of the log: when it was asked for, and when it was promised.
        struct Replacement {
            const WrittenFile* by = nullptr;
            std::uint64_t asked = 0;
            std::uint64_t promised = 0;
        };
        void note(const Event& event);
        void note(Event::Kind kind, Range range = {}, std::uint32_t generation = 0);
        [[nodiscard]] std::size_t asked_so_far() const;
        void promise(std::size_t covers);
        void write(const File& file, Range range);
        void write_synchronously(const File& file, Range range, int flags);
        [[nodiscard]] bool fallocate(int mode, Range range);
        // What was asked for last: whether it was done. Throws SystemFailure where it failed otherwise than by not being
        // there.
        [[nodiscard]] bool done(int error, std::uint64_t size);

        CrashTest& test_;
        std::uint32_t number_;
        std::string name_;
        File buffered_;
        File direct_;
        mutable std::mutex mutex_;
        std::uint32_t generation_ = 0;
        std::uint64_t size_ = 0;
        std::vector<Event> events_;
        std::optional<Replacement> replaced_;
        bool has_name_ = true;
    };

    /// A new file, of which the name is safe already.
    [[nodiscard]] WrittenFile& create();
    /// Preallocates all but `left` bytes of the free space, where the filesystem can, so that the next blocks that a file
    /// gets are those that others give up.
    void fill_up(std::uint64_t left);
    /// Directories full of names are made and removed again.
    void make_and_remove_directories();
    /// In bytes, for anyone (statvfs(2)).
    [[nodiscard]] std::uint64_t free_space() const;
    /// Gives what is under way in the background the time of one sync of the filesystem, without a promise to any file.
    void sync_filesystem();

    /// Cuts the power, at moments spread over all of the log: with all that was written by then; with what was promised
    /// by then and nothing else; with that and the last write alone; with a random part lost of what no flush has covered.
    /// Observes `stale`, `lost` and `unreadable` as all cases of this family do, and `unmountable` and `damaged` (by
    /// fsck, which looks at one in three): how many states.
    void cut_power();

 private:
    [[nodiscard]] std::uint64_t log_length() const;
    void judge(std::span<const std::uint64_t> keep, std::uint64_t cut);
    void judge_file(const std::filesystem::path& root, const WrittenFile& file, std::uint64_t cut,
                    std::string_view state);
    void judge_behind(const std::filesystem::path& root, const WrittenFile& file, std::uint64_t cut,
                      std::string_view state);
    [[nodiscard]] std::vector<std::uint64_t> promises() const;
    [[nodiscard]] CrashModel model(const WrittenFile& file, std::uint64_t cut, std::uint64_t size) const;

    Experiment& experiment_;
    HeldDisk& disk_;
    std::list<WrittenFile> files_;
    std::uint64_t begin_ = 0;
    Findings findings_;
    std::vector<std::string> unmountable_;
    std::vector<std::string> damaged_;
    std::set<std::pair<std::uint64_t, std::vector<std::uint64_t>>> tried_;
    std::uint64_t states_ = 0;
};

}  // namespace holdfast
