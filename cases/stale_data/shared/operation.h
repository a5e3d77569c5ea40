// What a program can have under way on a file.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "fixtures/pattern/oracle.h"

namespace holdfast {

/// In bytes.
struct Operation {
    enum class Kind {
        /// io_submit(2) of a write with O_DIRECT.
        direct_write,
        /// pwrite(2) through the page cache.
        buffered_write,
        /// pwritev2(2) with RWF_DONTCACHE.
        uncached_write,
        /// A store through a mapping, into whole pages below the end of file.
        store,
        /// fdatasync(2).
        datasync,
        /// ftruncate(2) to range.end.
        truncate,
        /// fallocate(2) with a mode that leaves what is there.
        allocate,
        /// fallocate(2) with a mode that makes the range zeros, below the end of file.
        zero
    };
    Kind kind = Kind::direct_write;
    Range range{};
    int mode = 0;
};

[[nodiscard]] inline Operation direct_write(Range range) { return {Operation::Kind::direct_write, range}; }
[[nodiscard]] inline Operation buffered_write(Range range) { return {Operation::Kind::buffered_write, range}; }
[[nodiscard]] inline Operation uncached_write(Range range) { return {Operation::Kind::uncached_write, range}; }
[[nodiscard]] inline Operation store(Range range) { return {Operation::Kind::store, range}; }
[[nodiscard]] inline Operation datasync() { return {Operation::Kind::datasync}; }
[[nodiscard]] inline Operation truncate_to(std::uint64_t size) { return {Operation::Kind::truncate, {0, size}}; }
[[nodiscard]] inline Operation allocate(int mode, Range range) { return {Operation::Kind::allocate, range, mode}; }
[[nodiscard]] inline Operation zero(int mode, Range range) { return {Operation::Kind::zero, range, mode}; }

/// The sizes that a file of `size` bytes can have when all of them have happened, in whatever order.
[[nodiscard]] std::set<std::uint64_t> possible_sizes(std::uint64_t size, const std::vector<Operation>& operations);

}  // namespace holdfast
