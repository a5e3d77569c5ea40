// What a power cut can leave, of a workload that was carried out on a held disk.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cases/case.h"
#include "cases/experiment.h"
#include "cases/stale_data/shared/crash_model.h"
#include "cases/stale_data/shared/power_cut.h"
#include "fixtures/base/aligned_buffer.h"
#include "fixtures/io/atomic_write.h"
#include "fixtures/io/file.h"
#include "fixtures/io/reader.h"
#include "fixtures/io/sync_way.h"
#include "fixtures/io/write_way.h"
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
        /// As write_direct, with RWF_ATOMIC: a power cut leaves all of it or nothing. Returns what the call did.
        std::int64_t write_atomically(AtomicWay way, Range range);
        /// As write_direct. False where there is no space (ENOSPC).
        [[nodiscard]] bool write_direct_if_space(Range range);
        /// In a way that promises what it has written, and so all before it: use it only where everything before it was
        /// promised. False where there is no such way, and nothing was written.
        bool write_durably(SyncWay way, Range range);
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
        /// From here on all calls but direct writes and syncs of others are made on a descriptor of O_SYNC.
        void reopen_synchronously();
        /// A call has returned that promises by itself what it did, and all before it was promised.
        void promise_all() { promise(calls_so_far()); }
        /// The same of the first `calls` alone.
        void promise_first(std::size_t calls) { promise(calls); }
        /// sync_file_range(2) of a range, to its end: it promises nothing.
        void start_writeback(Range range);
        /// FICLONE: all that `source` holds. False where the filesystem does not have it.
        [[nodiscard]] bool clone(const WrittenFile& source);
        /// rename(2) to the name of `replaced`, and fsync of the directory: what is under that name then is one of the
        /// two, whole, and from the sync on it is this one.
        void rename_over(WrittenFile& replaced);
        /// rename(2) alone: what is under that name then is one of the two, whole.
        void rename_over_unsynced(WrittenFile& replaced);
        /// Sync what was asked for of this file. The promise holds from when they return.
        void fsync();
        void fdatasync();
        void aio_fdsync();
        void syncfs();

        /// In one of many ways. Returns what was wrong with how the call went; nothing also where the kernel does not have
        /// the way, and nothing was written. A synchronous one promises itself, and so all where all before was promised.
        [[nodiscard]] std::optional<std::string> write_by(WriteWay way, Range range);
        /// Through a mapping, below the end of file.
        void store(Range range);
        /// copy_file_range(2) and FICLONERANGE: `range` of this file becomes what `source` has from byte `from` on. False
        /// where the filesystem cannot.
        [[nodiscard]] bool copy(const WrittenFile& source, std::uint64_t from, Range range);
        [[nodiscard]] bool clone_range(const WrittenFile& source, std::uint64_t from, Range range);
        /// fsync(2), and then no page of it is in memory.
        void drop_cache();
        /// Reads all of it, which must be just what the calls have made of it.
        void judge_now(Reading reading, Findings& findings);

        /// For calls that are made together, by others: each is announced, and begins after all before it. `begin_write`
        /// gives the data.
        [[nodiscard]] AlignedBuffer begin_write(Range range);
        void begin_zero(Range range);
        void begin_resize(std::uint64_t size);
        /// How many calls were made or announced.
        [[nodiscard]] std::size_t calls_so_far() const;
        /// All calls from number `since` on have ended, in whatever order and perhaps in failure: judges what is there, and
        /// goes on from that. `synced`: a sync was among them, which promises all before it.
        void settle(std::size_t since, bool synced, Findings& findings);
        [[nodiscard]] const std::filesystem::path& path() const { return buffered_.path(); }

     private:
        friend class CrashTest;
        struct Event {
            /// The length of the log when it was asked for, or when a promise was made.
            std::uint64_t at = 0;
            enum class Kind { write, zero, resize, collapse, insert, clone, copy, found, promise } kind;
            Range range{};
            std::uint32_t generation = 0;
            /// Whether all calls before it had returned when it began, and those after it began later.
            bool alone = true;
            /// Of a write: whether a power cut must leave all of it or nothing.
            bool whole = false;
            /// Of a clone or a copy: of whom, after how many calls, and where to.
            const WrittenFile* source = nullptr;
            std::size_t source_calls = 0;
            std::uint64_t to = 0;
            /// All of the file, as it was found.
            std::vector<std::byte> content{};
            /// Of a promise: how many of the events before it are promised.
            std::size_t covers = 0;

            void may_happen(CrashModel& model) const;
        };
        // By the length of the log: when it was asked for, and when it was promised.
        struct Replacement {
            const WrittenFile* by = nullptr;
            std::uint64_t asked = 0;
            std::uint64_t promised = 0;
        };
        void note(const Event& event);
        void note(Event::Kind kind, Range range = {}, std::uint32_t generation = 0);
        void promise(std::size_t covers);
        [[nodiscard]] bool all_promised() const;
        [[nodiscard]] bool copied(const WrittenFile& source, std::uint64_t from, Range range, int error);
        [[nodiscard]] std::vector<std::byte> content(Reading reading) const;
        void write(const File& file, Range range);
        [[nodiscard]] bool fallocate(int mode, Range range);
        // What was asked for last: whether it was done. Throws SystemFailure where it failed otherwise than by not being
        // there.
        [[nodiscard]] bool done(int error, std::uint64_t size);

        CrashTest& test_;
        std::uint32_t number_;
        std::string name_;
        // The length of the log when its name was safe.
        std::uint64_t created_ = 0;
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
    /// Cuts the power in each moment in which something had just been promised, or in so many of each file, from file to
    /// file other ones; with what flushes had covered by then and nothing else. Observes what cut_power does.
    void cut_power_at_promises(std::size_t of_each_file = std::numeric_limits<std::size_t>::max());
    /// Cuts the power, lets the filesystem recover, cuts the power again while it does, and after something more was
    /// written and synced. Observes what cut_power does, and `afterwards`: "there", or what is wrong with what was written
    /// then.
    void cut_power_in_recovery();
    /// As cut_power, and also before and after each of the writes for which `matters`, or of `most` of them, each with all
    /// that can be left. Observes `moments`, too: how many of those writes there were.
    void cut_power_around(const std::function<bool(const LogEntry&)>& matters, std::size_t most);
    /// fsck is to look at every state, not at one in three.
    void check_all_states() { checked_one_in_ = 1; }
    /// One power cut after `cut` entries of the disk's log, which is given as it is by now.
    void cut_power_at(const WriteLog& log, std::uint64_t cut, Kept kept, std::mt19937_64& random);
    /// The length of the log before the files were written to.
    [[nodiscard]] std::uint64_t begin() const { return begin_; }
    /// What power cuts have shown so far.
    [[nodiscard]] const Findings& findings() const { return findings_; }
    [[nodiscard]] const std::vector<std::string>& unmountable() const { return unmountable_; }
    [[nodiscard]] const std::vector<std::string>& damaged() const { return damaged_; }
    /// Writes with RWF_ATOMIC of which a power cut has left a part.
    [[nodiscard]] const std::vector<std::string>& torn() const { return torn_; }
    [[nodiscard]] std::uint64_t states() const { return states_; }

 private:
    [[nodiscard]] std::uint64_t log_length() const;
    void judge(std::span<const std::uint64_t> keep, std::uint64_t cut);
    void judge_disk(std::unique_ptr<Disk> disk, std::uint64_t cut, const std::string& state);
    void cut_recovery(std::uint64_t cut, std::span<const std::uint64_t> keep, std::string& afterwards,
                      std::mt19937_64& random);
    void judge_file(const std::filesystem::path& root, const WrittenFile& file, std::uint64_t cut,
                    std::string_view state);
    void judge_whole_writes(std::span<const std::byte> content, const WrittenFile& file, std::uint64_t cut,
                            std::string_view state);
    void judge_behind(const std::filesystem::path& root, const WrittenFile& file, std::uint64_t cut,
                      std::string_view state);
    void cut_power_anywhere(const WriteLog& log, std::mt19937_64& random);
    [[nodiscard]] std::vector<std::uint64_t> promises() const;
    [[nodiscard]] std::vector<std::uint64_t> promises(const WrittenFile& file) const;
    void observe(std::chrono::steady_clock::time_point start) const;
    // After so many of its calls, as far as they had begun at `cut`.
    [[nodiscard]] static CrashModel model(const WrittenFile& file, std::uint64_t cut, std::uint64_t size,
                                          std::size_t calls = std::numeric_limits<std::size_t>::max());

    Experiment& experiment_;
    HeldDisk& disk_;
    std::list<WrittenFile> files_;
    std::uint64_t begin_ = 0;
    Findings findings_;
    std::vector<std::string> unmountable_;
    std::vector<std::string> damaged_;
    std::vector<std::string> torn_;
    std::set<std::pair<std::uint64_t, std::vector<std::uint64_t>>> tried_;
    std::uint64_t states_ = 0;
    // Most of a state's time is the checker's, and damage seldom comes alone.
    std::uint64_t checked_one_in_ = 3;
};

}  // namespace holdfast
