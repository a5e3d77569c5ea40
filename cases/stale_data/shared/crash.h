// What a power cut can leave, of a workload that was carried out on a held disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cases/case.h"
#include "cases/experiment.h"
#include "fixtures/io/file.h"
#include "fixtures/pattern/oracle.h"

namespace holdfast {

/// What a file may hold after a power cut, sector by sector. Of a write that was asked for, any sector may be there or
/// not; what a sync has promised must be.
class CrashModel {
 public:
    explicit CrashModel(std::uint32_t file) : file_(file) {}

    /// A write of `generation` (from 1 to 62) may have happened, or the turning of a range into zeros.
    void may_write(Range range, std::uint32_t generation);
    void may_zero(Range range);
    /// The end of file may have moved to `size`, with everything behind it gone.
    void may_resize(std::uint64_t size);
    /// All of that has happened, for certain.
    void promise();

    /// Judges what a direct reader finds in a file of `size` bytes; `state` ends the sentences.
    void judge(std::span<const std::byte> content, std::uint64_t size, std::string_view state,
               Findings& findings) const;

 private:
    // Bit 0: zeros; bit g: data of generation g.
    struct Sector {
        std::uint64_t may = 1;
        std::uint32_t latest = 0;
    };
    void grow(std::uint64_t end);
    void judge_sector(std::span<const std::byte, sector_size> bytes, std::uint64_t offset, std::string_view state,
                      Findings& findings) const;

    std::uint32_t file_;
    std::vector<Sector> sectors_;
    std::uint64_t size_ = 0;
    std::uint64_t smallest_ = 0;
    std::uint64_t largest_ = 0;
};

/// Carries out a workload and remembers when it asked for what, by the length of the disk's log. In the end it cuts the
/// power at many points of that log, mounts what each leaves, and judges it.
class CrashTest {
 public:
    /// On an aged filesystem on a held disk.
    explicit CrashTest(Experiment& experiment);
    CrashTest(const CrashTest&) = delete;
    CrashTest& operator=(const CrashTest&) = delete;

    class WrittenFile {
     public:
        /// At `range.begin`, with O_DIRECT or through the page cache.
        void write_direct(Range range);
        void write_buffered(Range range);
        /// With O_DIRECT and RWF_DSYNC; the promise holds from when it returns, for this and all before it, so use it only
        /// where everything before it was promised.
        void write_dsync(Range range);
        /// fallocate(2) with 0 or KEEP_SIZE; with a mode that turns the range into zeros. False where the filesystem does
        /// not have the mode.
        [[nodiscard]] bool allocate(int mode, Range range);
        [[nodiscard]] bool zero(int mode, Range range);
        void truncate(std::uint64_t size);
        /// Sync what was asked for of this file. The promise holds from when they return.
        void fsync();
        void fdatasync();

     private:
        friend class CrashTest;
        struct Event {
            /// The length of the log when it was asked for, or when a promise was made.
            std::uint64_t at = 0;
            enum class Kind { write, zero, resize, promise } kind;
            Range range{};
            std::uint32_t generation = 0;
        };
        WrittenFile(CrashTest& test, std::uint32_t number);
        void note(Event::Kind kind, Range range = {}, std::uint32_t generation = 0);
        void write(const File& file, Range range);
        [[nodiscard]] bool fallocate(int mode, Range range);

        CrashTest& test_;
        std::uint32_t number_;
        std::string name_;
        File buffered_;
        File direct_;
        std::uint32_t generation_ = 0;
        std::uint64_t size_ = 0;
        std::vector<Event> events_;
    };

    /// A new file, of which the name is safe already.
    [[nodiscard]] WrittenFile& create();
    /// Gives what is under way in the background the time of one sync of the filesystem, without a promise to any file.
    void sync_filesystem();

    /// Cuts the power: after every write of the log, or as many of them as there is time for, spread over all of it; and
    /// again with, of what no flush has covered, a random part lost. Observes `stale`, `lost` and `unreadable` as all
    /// cases of this family do, and `unmountable` and `damaged` (by fsck, which looks at one in three): how many states.
    void cut_power();

 private:
    [[nodiscard]] std::uint64_t log_length() const;
    void judge(std::span<const std::uint64_t> keep, std::uint64_t cut);
    [[nodiscard]] CrashModel model(const WrittenFile& file, std::uint64_t cut) const;

    Experiment& experiment_;
    HeldDisk& disk_;
    std::list<WrittenFile> files_;
    std::uint64_t begin_ = 0;
    Findings findings_;
    std::vector<std::string> unmountable_;
    std::vector<std::string> damaged_;
    std::uint64_t states_ = 0;
};

}  // namespace holdfast
