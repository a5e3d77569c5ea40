#include "cases/fallocate/shared/scene.h"

#include <algorithm>
#include <cerrno>
#include <vector>

#include <fmt/format.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "fixtures/base/bytes.h"
#include "fixtures/base/failure.h"
#include "fixtures/pattern/sector.h"
#include "fixtures/probe/extents.h"

namespace holdfast::fallocate {

namespace {

std::uint64_t resolve(Place place, std::uint64_t step) {
    return static_cast<std::uint64_t>(place.steps * static_cast<std::int64_t>(step) + place.bytes);
}

struct stat status_of(const File& file) {
    struct stat status {};
    checked(::fstat(file.descriptor(), &status), "fstat of " + file.path().string());
    return status;
}

/// "byte 8195 of 40960 is 0x00, not 0x5a; the sector at 8192: zeros, expected data of file 3 (generation 1) at offset 8192".
std::string tell_apart(std::span<const std::byte> found, std::span<const std::byte> expected) {
    const auto mismatch = std::mismatch(found.begin(), found.end(), expected.begin(), expected.end()).first;
    const auto byte = static_cast<std::uint64_t>(mismatch - found.begin());
    if (byte == found.size()) return fmt::format("only {} of {} bytes could be read", found.size(), expected.size());
    const auto at = byte / sector_size * sector_size;
    const auto name = [&](std::span<const std::byte> bytes) {
        if (bytes.size() < at + sector_size) return std::string("the last part of a sector");
        return describe(identify(bytes.subspan(at).first<sector_size>()));
    };
    return fmt::format("byte {} of {} is {:#04x}, not {:#04x}; the sector at {}: {}, expected {}", byte,
                       expected.size(), std::to_integer<unsigned>(found[byte]),
                       std::to_integer<unsigned>(expected[byte]), at, name(found), name(expected));
}

/// Whether a block in this state may be `wanted`.
bool allowed(BlockState wanted, ExtentState found) {
    switch (wanted) {
        case BlockState::hole:
            return found == ExtentState::hole;
        case BlockState::unwritten:
            return found == ExtentState::unwritten;
        case BlockState::written:
            return found == ExtentState::written;
        case BlockState::allocated:
            return found == ExtentState::unwritten || found == ExtentState::written;
        case BlockState::unspecified:
            return true;
    }
    return false;
}

std::string_view wanted_name(BlockState wanted) {
    switch (wanted) {
        case BlockState::hole:
            return "a hole";
        case BlockState::unwritten:
            return "unwritten";
        case BlockState::written:
            return "written";
        case BlockState::allocated:
            return "allocated";
        case BlockState::unspecified:
            return "anything";
    }
    return "unknown";
}

/// As summarize, but of a file with thousands of extents no more than the first ones.
std::string outline(std::span<const Extent> extents) {
    constexpr std::size_t most = 40;
    if (extents.size() <= most) return summarize(extents);
    return fmt::format("{} extents, the first ones {}", extents.size(), summarize(extents.first(most)));
}

std::optional<std::string> find_extent_difference(const FileModel& model, std::span<const Extent> extents) {
    const std::uint64_t block = model.block();
    const std::uint64_t past_all = extents.empty() ? 0 : extents.back().end();
    const std::uint64_t end = std::max<std::uint64_t>(model.blocks().size() * block, past_all);
    for (const ExtentRun& run : runs(extents, 0, end)) {
        for (std::uint64_t at = run.start / block; at * block < run.start + run.length; ++at) {
            const BlockState wanted = at < model.blocks().size() ? model.blocks()[at] : model.beyond();
            if (allowed(wanted, run.state)) continue;
            return fmt::format("at {}: {}, expected {} ({})", at * block, state_name(run.state), wanted_name(wanted),
                               outline(extents));
        }
    }
    return std::nullopt;
}

/// What st_blocks should say of these extents, in bytes: whole clusters, each counted once.
std::uint64_t occupied_bytes(std::span<const Extent> extents, std::uint64_t cluster) {
    std::uint64_t bytes = 0;
    std::uint64_t counted_to = 0;
    for (const Extent& extent : extents) {
        const std::uint64_t from = std::max(extent.logical / cluster * cluster, counted_to);
        const std::uint64_t to = (extent.end() + cluster - 1) / cluster * cluster;
        if (to <= from) continue;
        bytes += to - from;
        counted_to = to;
    }
    return bytes;
}

/// Files of ext3 have indirect blocks in place of an extent tree.
bool has_indirect_blocks(const File& file) {
    struct statfs status {};
    checked(::fstatfs(file.descriptor(), &status), "fstatfs of " + file.path().string());
    int attributes = 0;
    return status.f_type == EXT4_SUPER_MAGIC && ::ioctl(file.descriptor(), FS_IOC_GETFLAGS, &attributes) == 0 &&
           (attributes & FS_EXTENT_FL) == 0;
}

/// Blocks of the extent tree itself count, too, once there are more extents than the inode has room for (ext4: 4). A
/// record takes up to 16 bytes, a block of the tree is filled by a quarter at least, but for the last on each level.
std::uint64_t tree_bytes_at_most(const File& file, std::span<const Extent> extents, const AllocationUnits& units,
                                 Tree tree) {
    if (extents.empty() && tree == Tree::as_small_as_can_be) return 0;
    if (has_indirect_blocks(file)) {
        constexpr std::uint64_t blocks_in_the_inode = 12;
        const std::uint64_t blocks = extents.empty() ? 0 : extents.back().end() / units.block;
        const std::uint64_t addresses = units.block / sizeof(std::uint32_t);
        if (blocks <= blocks_in_the_inode && tree == Tree::as_small_as_can_be) return 0;
        return (3 + 2 * blocks / addresses) * units.block;
    }
    constexpr std::size_t extents_in_the_inode = 4;
    constexpr std::uint64_t record = 16;
    if (extents.size() <= extents_in_the_inode && tree == Tree::as_small_as_can_be) return 0;
    return (2 + 4 * extents.size() * record / units.block) * units.cluster;
}

std::optional<std::string> find_block_count_difference(const File& file, std::span<const Extent> extents,
                                                       const AllocationUnits& units, Tree tree) {
    const auto found = static_cast<std::uint64_t>(status_of(file).st_blocks) * 512;
    const std::uint64_t least = occupied_bytes(extents, units.cluster);
    const std::uint64_t most = least + tree_bytes_at_most(file, extents, units, tree);
    if (found >= least && found <= most) return std::nullopt;
    return fmt::format("st_blocks says {} bytes, the extents take {} and their tree {} at most ({})", found, least,
                       most - least, outline(extents));
}

}  // namespace

Stage set_up(const Scene& scene, const std::filesystem::path& path, std::uint32_t number,
             const AllocationUnits& units) {
    const std::uint64_t step = units.step;
    const std::uint64_t size = scene.layout.size() * step - static_cast<std::uint64_t>(scene.short_by);
    Stage stage{.file = File::create(path),
                .model = FileModel(units.block, step),
                .offset = resolve(scene.offset, step),
                .length = resolve(scene.length, step)};
    // The size comes first: writes that extend a file may preallocate behind it.
    stage.file.truncate(size);
    stage.model.grow(size);
    for (std::size_t i = 0; i < scene.layout.size(); ++i) {
        const std::uint64_t offset = i * step;
        const std::uint64_t length = std::min(step, size - offset);
        if (scene.layout[i] == 'D') {
            std::vector<std::byte> data(length);
            fill_data(data, {.file = number, .generation = 1}, offset);
            stage.file.write_at(offset, data);
            stage.model.write(offset, data);
        } else if (scene.layout[i] == 'U') {
            const int error = stage.file.fallocate(FALLOC_FL_KEEP_SIZE, offset, step);
            if (error == EOPNOTSUPP) continue;
            if (error != 0) throw SystemFailure("preallocating a part of " + path.string(), error);
            stage.model.allocate(offset, step, true);
        }
    }
    if (!scene.dirty) stage.file.sync();
    return stage;
}

std::optional<Difference> compare_content(const FileModel& model, std::span<const std::byte> content) {
    if (std::ranges::equal(content, model.content())) return std::nullopt;
    return Difference{"wrong content", tell_apart(content, model.content())};
}

std::optional<Difference> find_content_difference(const FileModel& model, const File& file, std::uint64_t base) {
    const std::uint64_t size = file.size();
    if (size != base + model.size())
        return Difference{"wrong size", fmt::format("{}, expected {}", size, base + model.size())};
    std::vector<std::byte> content(model.size());
    content.resize(file.read_at(base, content));
    return compare_content(model, content);
}

std::optional<Difference> find_difference(const FileModel& model, const File& file, const AllocationUnits& units,
                                          Tree tree, std::uint64_t base) {
    if (auto difference = find_content_difference(model, file, base)) return difference;
    auto extents = read_extents(file.descriptor());
    if (auto detail = tree == Tree::any ? std::nullopt : find_block_count_difference(file, extents, units, tree))
        return Difference{"wrong block count", *detail};
    if (!extents.empty() && extents.front().logical < base)
        return Difference{"wrong extents", fmt::format("something before {} ({})", base, outline(extents))};
    for (Extent& extent : extents) extent.logical -= base;
    if (auto detail = find_extent_difference(model, extents))
        return Difference{"wrong extents", base == 0 ? *detail : fmt::format("from {} on: {}", base, *detail)};
    return std::nullopt;
}

nlohmann::json describe_file(const File& file) {
    const struct stat status = status_of(file);
    return {{"size", status.st_size},
            {"st_blocks", status.st_blocks},
            {"extents", outline(read_extents(file.descriptor()))}};
}

}  // namespace holdfast::fallocate
