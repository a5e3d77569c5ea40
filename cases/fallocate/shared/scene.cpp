#include "cases/fallocate/shared/scene.h"

#include <algorithm>
#include <cerrno>
#include <vector>

#include <fmt/format.h>
#include <linux/falloc.h>
#include <sys/stat.h>

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

/// "at 8192 of 40960: zeros, but data of file 3 (generation 1) at offset 8192 should be there".
std::string tell_apart(std::span<const std::byte> found, std::span<const std::byte> expected, std::uint64_t size) {
    const auto mismatch = std::mismatch(found.begin(), found.end(), expected.begin(), expected.end()).first;
    const auto at = static_cast<std::uint64_t>(mismatch - found.begin()) / sector_size * sector_size;
    const auto name = [&](std::span<const std::byte> bytes) {
        if (bytes.size() < at + sector_size) return std::string("the last part of a sector");
        return describe(identify(bytes.subspan(at).first<sector_size>()));
    };
    return fmt::format("at {} of {}: {}, expected {}", at, size, name(found), name(expected));
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

std::optional<std::string> find_extent_difference(const FileModel& model, std::span<const Extent> extents) {
    const std::uint64_t block = model.block();
    const std::uint64_t past_all = extents.empty() ? 0 : extents.back().end();
    const std::uint64_t end = std::max<std::uint64_t>(model.blocks().size() * block, past_all);
    for (const ExtentRun& run : runs(extents, 0, end)) {
        for (std::uint64_t at = run.start / block; at * block < run.start + run.length; ++at) {
            const BlockState wanted = at < model.blocks().size() ? model.blocks()[at] : BlockState::hole;
            if (allowed(wanted, run.state)) continue;
            return fmt::format("at {}: {}, expected {} ({})", at * block, state_name(run.state), wanted_name(wanted),
                               summarize(extents));
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

/// Blocks of the extent tree itself count, too, once there are more extents than the inode has room for (ext4: 4).
constexpr std::size_t extents_in_the_inode = 4;
constexpr std::uint64_t tree_blocks_at_most = 2;

std::optional<std::string> find_block_count_difference(const File& file, std::span<const Extent> extents,
                                                       const AllocationUnits& units) {
    const auto found = static_cast<std::uint64_t>(status_of(file).st_blocks) * 512;
    const std::uint64_t least = occupied_bytes(extents, units.cluster);
    const std::uint64_t most =
        extents.size() > extents_in_the_inode ? least + tree_blocks_at_most * units.cluster : least;
    if (found >= least && found <= most) return std::nullopt;
    return fmt::format("st_blocks says {} bytes, the extents take {} ({})", found, least, summarize(extents));
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

std::optional<Difference> find_content_difference(const FileModel& model, const File& file) {
    const std::uint64_t size = file.size();
    if (size != model.size()) return Difference{"wrong size", fmt::format("{}, expected {}", size, model.size())};
    std::vector<std::byte> content(size);
    content.resize(file.read_at(0, content));
    if (!std::ranges::equal(content, model.content())) {
        return Difference{"wrong content", tell_apart(content, model.content(), size)};
    }
    return std::nullopt;
}

std::optional<Difference> find_difference(const FileModel& model, const File& file, const AllocationUnits& units) {
    if (auto difference = find_content_difference(model, file)) return difference;
    const auto extents = read_extents(file.descriptor());
    if (auto detail = find_extent_difference(model, extents)) return Difference{"wrong extents", *detail};
    if (auto detail = find_block_count_difference(file, extents, units))
        return Difference{"wrong block count", *detail};
    return std::nullopt;
}

nlohmann::json describe_file(const File& file) {
    const struct stat status = status_of(file);
    return {{"size", status.st_size},
            {"st_blocks", status.st_blocks},
            {"extents", summarize(read_extents(file.descriptor()))}};
}

}  // namespace holdfast::fallocate
