// A file of which every change is also written down as what its readers may see.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "fixtures/io/file.h"
#include "fixtures/pattern/oracle.h"

namespace holdfast {

/// For one thread. Throws SystemFailure; but what asks for a mode of fallocate(2) returns false where the filesystem does
/// not have it (EOPNOTSUPP).
class TrackedFile {
 public:
    /// Makes the file.
    TrackedFile(std::filesystem::path path, std::uint32_t number);

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] const FileContent& content() const { return content_; }

    /// Each write is of a generation of its own. Through the page cache at any offset and length ...
    void write(Range range);
    /// ... or with O_DIRECT, in whole sectors.
    void write_direct(Range range);
    void truncate(std::uint64_t size);
    /// fsync(2).
    void sync();

    /// fallocate(2) with 0, KEEP_SIZE or UNSHARE_RANGE: what is there stays, what is not reads as zeros.
    [[nodiscard]] bool allocate(int mode, Range range);
    /// fallocate(2) with ZERO_RANGE, WRITE_ZEROES or PUNCH_HOLE: the range reads as zeros.
    [[nodiscard]] bool zero(int mode, Range range);

    /// Writes to `range` what will belong there `shift` bytes further on, and does not write it down yet.
    void write_for_later(Range range, std::int64_t shift);
    /// fallocate(2) with INSERT_RANGE or COLLAPSE_RANGE, through which the last write_for_later comes to its place.
    [[nodiscard]] bool shift_tail(int mode, Range range);

    /// Closes it, so that its filesystem can be unmounted. Nothing else does: close(2) can wait for direct I/O in flight
    /// (fs/xfs/xfs_file.c, xfs_file_release, where there are blocks behind the end of file).
    void close() {
        direct_.reset();
        file_.reset();
    }

 private:
    void put(const File& file, Range range);
    /// False where the mode is not supported.
    [[nodiscard]] bool fallocate(int mode, Range range);

    std::filesystem::path path_;
    FileContent content_;
    std::uint32_t generation_ = 0;
    std::optional<File> file_;
    std::optional<File> direct_;
};

}  // namespace holdfast
