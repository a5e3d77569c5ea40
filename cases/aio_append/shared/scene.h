// The scenes of this family: a file in some state, what is under way on it, and the writes that a case asks about.
#pragma once

#include <cstdint>
#include <vector>

#include "fixtures/io/file_state.h"
#include "fixtures/pattern/oracle.h"

namespace holdfast {

/// A call on the same file that waits for the disk while the writes are asked for.
enum class Meanwhile {
    nothing,
    /// fsync(2) with nothing but the file's mode to write.
    fsync,
    /// fsync(2) with the last block of the file's data dirty in the page cache.
    writeback,
    fallocate,
    truncate
};

/// Offsets and lengths in bytes, multiples of the sector.
struct Scene {
    /// In which the file is, written directly and synced.
    FileState file{};
    /// Its times are years old, so that a write has them to change. Otherwise they are set right before.
    bool old_times = false;
    /// The filesystem has just been mounted and knows no more of the file than its inode; what it reads on the way to
    /// the disk's data is held too. Needs a held disk.
    bool cold = false;
    /// Besides O_RDWR | O_DIRECT: O_DSYNC, O_APPEND.
    int open_flags = 0;
    /// Of the writes that are asked about, as in pwritev2(2): RWF_DSYNC, RWF_APPEND.
    int write_flags = 0;

    /// Writes that are in flight before, submitted one by one.
    std::vector<Range> earlier{};
    /// They go to another file of the same kind.
    bool earlier_elsewhere = false;
    Meanwhile meanwhile = Meanwhile::nothing;

    /// Asked for in one call.
    std::vector<Range> writes;
};

/// In how many pieces the file of a cold scene lies: more extents than any filesystem keeps in the inode, or in the block
/// that it reads with it, or in the last block of a tree, which btrfs reads when it is mounted.
inline constexpr std::uint64_t pieces_of_a_cold_file = 600;

/// The end of file once all of it has happened.
[[nodiscard]] std::uint64_t size_after(const Scene& scene);
/// Whether the completion of the writes promises that a power cut keeps them.
[[nodiscard]] bool is_dsync(const Scene& scene);

}  // namespace holdfast
