// Filling a filesystem.
#pragma once

#include <cstdint>
#include <filesystem>

#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/file.h"

namespace holdfast::fallocate {

/// What statfs(2) counts, in bytes.
struct Space {
    std::uint64_t free = 0;
    std::uint64_t available = 0;
};
[[nodiscard]] Space space_of(const File& file);

/// Takes all space that there is for `filler`, in ever smaller pieces: with fallocate where the filesystem has it, else
/// by writing. Stops at `most` bytes: a filesystem that grants more than it has must not keep a case from saying so.
/// Throws SystemFailure.
void fill(const File& filler, std::uint64_t block, std::uint64_t most);

/// The same, and then gives `left` bytes back.
void fill_but(const File& filler, std::uint64_t left, const AllocationUnits& units, std::uint64_t most);

}  // namespace holdfast::fallocate
