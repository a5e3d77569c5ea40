// A file that goes through random calls beside its model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "cases/fallocate/shared/mode.h"
#include "cases/fallocate/shared/scene.h"
#include "fixtures/io/file.h"

namespace holdfast::fallocate {

/// What else a walk does besides fallocate(2), reads and writes below the end of file.
enum class Writing {
    /// The size is moved by ftruncate(2) alone, so that each hole is a hole: nothing is allocated in advance.
    inside,
    /// Writes extend the file, and go through mappings.
    everywhere
};

class RandomWalk {
 public:
    /// Makes the file; `number` tells its data from that of other files. `modes`: those to walk with. Throws Failure.
    RandomWalk(std::filesystem::path path, std::uint32_t number, const AllocationUnits& units, std::vector<Mode> modes,
               Writing writing, std::uint64_t seed);

    /// One random call, and often a look at the content. What differs then, else nothing.
    [[nodiscard]] std::optional<Difference> step();
    /// A look at all: content, extents, block count.
    [[nodiscard]] std::optional<Difference> look();
    /// Closes the file, so that it can be unmounted; the next look or step opens it again.
    void close();
    /// Grows the file to show what lies behind its end, which must be zeros.
    [[nodiscard]] std::optional<Difference> look_behind_end();

    /// fsync(2) or fdatasync(2): what the model says now is promised.
    void sync();
    [[nodiscard]] const FileModel& model() const { return model_; }
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

    /// All that was done, one call each: "12 ZERO_RANGE 4096+8191".
    [[nodiscard]] const std::vector<std::string>& steps() const { return steps_; }

 private:
    struct Place {
        std::uint64_t offset;
        std::uint64_t length;
        [[nodiscard]] std::uint64_t end() const { return offset + length; }
    };
    [[nodiscard]] std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
    [[nodiscard]] Place any_place(std::uint64_t end, std::uint64_t alignment);
    void note(std::string_view call, Place place, std::string_view how = "");
    [[nodiscard]] const File& file();

    std::optional<Difference> fallocate();
    std::optional<Difference> write();
    void write_mapped();
    void written(Place place, std::span<const std::byte> data);
    void make_room(std::uint64_t end);
    void truncate();
    void resize(std::uint64_t size);
    void drop_cache();
    std::optional<Difference> compare_direct();
    std::optional<Difference> compare_mapped();

    std::filesystem::path path_;
    std::uint32_t number_;
    AllocationUnits units_;
    std::vector<Mode> modes_;
    Writing writing_;
    std::mt19937_64 random_;
    std::uint64_t limit_;
    FileModel model_;
    std::optional<File> file_;
    std::uint32_t generation_ = 0;
    bool copied_ = false;
    std::vector<std::string> steps_;
};

}  // namespace holdfast::fallocate
