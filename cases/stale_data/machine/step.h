// What a sequence of the state machine consists of: plain data.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cases/stale_data/shared/power_cut.h"
#include "fixtures/io/reader.h"
#include "fixtures/io/write_way.h"
#include "fixtures/pattern/oracle.h"

namespace holdfast::machine {

/// How many files a sequence works on, and how far in each. In bytes.
inline constexpr unsigned files = 3;
inline constexpr std::uint64_t furthest = 256 * KiB;

enum class Action {
    write,
    /// Through a mapping; only what lies below the end of file.
    store,
    fallocate,
    truncate,
    /// copy_file_range(2) and FICLONERANGE of a range of another file; FICLONE of all of it.
    copy,
    clone_range,
    clone,
    sync,
    /// fsync(2), and then the file's pages are dropped (posix_fadvise(2)).
    drop_cache,
    look,
    /// A write while the disk answers EIO to requests with data.
    failing_write,
    /// What a power cut leaves is mounted beside the filesystem, judged and given up; the sequence goes on.
    power_cut,
    /// Some steps in flight together, while the disk holds their data.
    together
};

enum class Syncing { fsync, fdatasync, syncfs, aio_fdsync };

/// In which order the disk completes what it holds.
enum class Release { as_submitted, reversed, random };

/// All offsets and lengths in bytes, whole sectors. What an action has no use for stays as it is here.
struct Step {
    Action action = Action::write;
    unsigned file = 0;
    /// Of a copy or a clone: where from.
    unsigned other = 0;
    std::uint64_t offset = 0;
    /// Of a truncate: the new size is `offset`.
    std::uint64_t length = 0;
    /// Of a copy or a clone of a range: the offset in `other`.
    std::uint64_t from = 0;
    WriteWay way = WriteWay::buffered;
    /// As in fallocate(2).
    int mode = 0;
    Syncing syncing = Syncing::fsync;
    Reading reading = Reading::buffered;
    /// Of a failing write: so many requests with data go well before the first that fails.
    std::uint64_t after = 0;
    /// Of a power cut: so many entries of the disk's log ago.
    std::uint64_t back = 0;
    Kept kept = Kept::all;
    Release release = Release::as_submitted;
    /// Of what is chosen at random.
    std::uint64_t seed = 0;
    /// Of `together`: what may_be_together allows.
    std::vector<Step> inside{};

    bool operator==(const Step&) const = default;
    [[nodiscard]] Range range() const { return {offset, offset + length}; }
};

using Steps = std::vector<Step>;

/// write (buffered, direct, by io_submit), truncate, fallocate with a mode that moves nothing, sync.
[[nodiscard]] bool may_be_together(const Step& step);

/// The words for them in JSON and in messages, in the order of the enumerations.
inline constexpr std::array<std::string_view, 13> action_names{
    "write", "store",      "fallocate", "truncate",      "copy",      "clone_range", "clone",
    "sync",  "drop_cache", "look",      "failing_write", "power_cut", "together"};
inline constexpr std::array<std::string_view, 4> syncing_names{"fsync", "fdatasync", "syncfs", "aio_fdsync"};
inline constexpr std::array<std::string_view, 5> reading_names{"buffered", "direct", "mapped", "spliced", "io_uring"};
inline constexpr std::array<std::string_view, 4> kept_names{"all", "certain", "last", "random"};
inline constexpr std::array<std::string_view, 3> release_names{"as_submitted", "reversed", "random"};

template <std::size_t count, typename Enumeration>
[[nodiscard]] std::string_view name_of(const std::array<std::string_view, count>& names, Enumeration value) {
    return names.at(static_cast<std::size_t>(value));
}
/// As fallocate's own cases name them: "PUNCH_HOLE|KEEP_SIZE".
[[nodiscard]] std::string_view mode_name(int mode);

/// "write 4096+512 of file 0, directly by io_submit".
[[nodiscard]] std::string describe(const Step& step);
/// Numbered from 1.
[[nodiscard]] std::vector<std::string> describe(const Steps& steps);

}  // namespace holdfast::machine
