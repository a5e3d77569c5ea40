// A file that one writer changes in every way it knows, as fast as it can, while any number of readers look.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <random>
#include <vector>

#include "fixtures/base/aligned_buffer.h"
#include "fixtures/io/aio.h"
#include "fixtures/io/file.h"
#include "fixtures/pattern/oracle.h"

namespace holdfast {

/// Whether the page cache is among these ways.
enum class Cached { no, yes };

/// The writer's side is for one thread. Throws Failure where a call fails.
class StressedFile {
 public:
    /// Makes the file. `unit`: of the smallest direct write, in bytes; `block`: of the filesystem.
    StressedFile(std::filesystem::path path, std::uint32_t number, Cached cached, std::uint64_t unit,
                 std::uint64_t block);

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    /// For all threads.
    [[nodiscard]] const FileContent& content() const { return content_; }
    [[nodiscard]] std::uint64_t size() const { return size_; }
    [[nodiscard]] Cached cached() const { return cached_; }

    /// One change: direct appends and overwrites, one and several at a time, appends and overwrites through the page cache,
    /// gaps, preallocation, holes punched, syncs.
    void change(std::mt19937_64& random);

 private:
    [[nodiscard]] Range behind_end(std::mt19937_64& random, std::uint64_t unit) const;
    [[nodiscard]] Range below_end(std::mt19937_64& random, std::uint64_t unit) const;
    void append_directly(std::mt19937_64& random);
    void write_directly(const std::vector<Range>& ranges);
    // Directly where the file is not to be in the page cache.
    void write_through_cache(Range range);
    void leave_gap(std::mt19937_64& random);
    void preallocate();
    void punch(std::mt19937_64& random);

    std::filesystem::path path_;
    Cached cached_;
    std::uint64_t unit_;
    std::uint64_t block_;
    FileContent content_;
    File direct_;
    File buffered_;
    AioContext aio_;
    std::uint32_t generation_ = 0;
    std::uint64_t size_ = 0;
};

}  // namespace holdfast
