// A scene: a file with a layout, a range of it, and how to see whether a call did to the range what it should.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "cases/fallocate/shared/file_model.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/file.h"

namespace holdfast::fallocate {

/// A position or a length: allocation steps (AllocationUnits::step) and bytes on top.
struct Place {
    std::int64_t steps = 0;
    std::int64_t bytes = 0;
};

/// A file and a range of it.
struct Scene {
    /// What is special about it, for messages.
    std::string_view what;
    /// The file, one letter for each allocation step: D data, H hole, U unwritten. Its length is the file's size.
    std::string_view layout;
    Place offset;
    Place length;
    /// Bytes that the size lacks to whole steps.
    std::int64_t short_by = 0;
    /// The data is still in the page cache alone.
    bool dirty = false;
};

/// A file as its scene wants it, and the model of it. U becomes H where the filesystem has no unwritten extents.
struct Stage {
    File file;
    FileModel model;
    std::uint64_t offset;
    std::uint64_t length;
};

/// Makes the file of `scene` at `path`; `number` tells its data from that of other files. Throws Failure.
[[nodiscard]] Stage set_up(const Scene& scene, const std::filesystem::path& path, std::uint32_t number,
                           const AllocationUnits& units);

/// How a file differs from its model.
struct Difference {
    /// "wrong size", "wrong content", "wrong extents", "wrong block count".
    std::string what;
    std::string detail;
};

/// What blocks of the extent tree a file may have: those that its extents need, or also those that are left from when it
/// had more (ext4 does not always give them back).
enum class Tree {
    as_small_as_can_be,
    left_from_before,
    /// Nor is the number of blocks judged: what was shared with another file may leave some reserved (XFS).
    any
};

/// Compares size, content, extents and st_blocks; nothing where all are as in the model. The model may be of what begins
/// at byte `base` of the file, a multiple of the allocation step; then all before it has to be a hole.
[[nodiscard]] std::optional<Difference> find_difference(const FileModel& model, const File& file,
                                                        const AllocationUnits& units,
                                                        Tree tree = Tree::as_small_as_can_be, std::uint64_t base = 0);

/// Compares size and content alone.
[[nodiscard]] std::optional<Difference> find_content_difference(const FileModel& model, const File& file,
                                                                std::uint64_t base = 0);

/// Compares what was read of the file, as many bytes as the model has, with the model.
[[nodiscard]] std::optional<Difference> compare_content(const FileModel& model, std::span<const std::byte> content);

/// Size, st_blocks and extents, for evidence.
[[nodiscard]] nlohmann::json describe_file(const File& file);

}  // namespace holdfast::fallocate
