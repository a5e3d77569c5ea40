// The ways in which programs give a new file its blocks.
#pragma once

#include <cstdint>
#include <string_view>

#include "fixtures/io/file.h"

namespace holdfast::sources {

enum class Allocation {
    /// One pwrite of zeros.
    one_write,
    /// Zeros in writes of 8 KiB.
    small_writes,
    /// posix_fallocate(3).
    posix_fallocate,
    /// Four bytes in each 4 KiB: what a C library does where there is no fallocate, done by the program.
    emulation,
    /// fallocate(2), and where the filesystem refuses, one pwrite of zeros: the remedy.
    fallocate_or_write,
    /// The last sector alone: a sparse file of that size.
    last_sector,
    /// ftruncate(2): a sparse file.
    truncate,
};

/// "posix_fallocate", "one pwrite".
[[nodiscard]] std::string_view name_of(Allocation allocation);

/// Gives an empty file `length` bytes, a multiple of 8 KiB. Syncs nothing that the file's flags do not. Throws
/// SystemFailure.
void allocate(const File& file, Allocation allocation, std::uint64_t length);

/// Writes data over [0, length) in writes of `unit` bytes.
void rewrite(const File& file, std::uint64_t length, std::uint64_t unit, std::uint32_t generation);

}  // namespace holdfast::sources
