// Writes into preallocated blocks: directly, through the page cache and through a mapping.
// Contract: exactly the blocks that were written become written, the rest stays unwritten and reads as zeros, at once
// and after a remount.

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "cases/fallocate/shared/scene.h"
#include "fixtures/base/failure.h"
#include "fixtures/pattern/sector.h"
#include "fixtures/probe/extents.h"

namespace holdfast::cases {

using fallocate::describe_file;
using fallocate::FileModel;

namespace {

enum class Engine { direct, buffered, mapped };

/// One write. Its place is in blocks (from the end of the file where negative) and bytes.
struct Write {
    std::string_view where;
    Engine engine;
    std::int64_t block;
    std::uint64_t bytes_in;
    std::uint64_t blocks;
    std::uint64_t bytes;
    /// The blocks were preallocated behind the end of file (KEEP_SIZE).
    bool behind_end = false;
};

constexpr std::array writes{
    Write{"direct, first block", Engine::direct, 0, 0, 1, 0},
    Write{"direct, middle block", Engine::direct, 28, 0, 1, 0},
    Write{"direct, last block", Engine::direct, -1, 0, 1, 0},
    Write{"direct, four blocks", Engine::direct, 24, 0, 4, 0},
    Write{"direct, half a kilobyte of a block", Engine::direct, 28, 512, 0, 512},
    Write{"direct, first block behind the end of file", Engine::direct, 0, 0, 1, 0, true},
    Write{"direct, middle block behind the end of file", Engine::direct, 28, 0, 1, 0, true},
    Write{"buffered, first block", Engine::buffered, 0, 0, 1, 0},
    Write{"buffered, middle block", Engine::buffered, 28, 0, 1, 0},
    Write{"buffered, last block", Engine::buffered, -1, 0, 1, 0},
    Write{"buffered, three parts of blocks", Engine::buffered, 28, 100, 2, 0},
    Write{"buffered, a few bytes of a block", Engine::buffered, 28, 100, 0, 7},
    Write{"buffered, middle block behind the end of file", Engine::buffered, 28, 0, 1, 0, true},
    Write{"mapped, middle page", Engine::mapped, 28, 0, 1, 0},
};

constexpr std::uint64_t fewest_blocks = 64;

struct Written {
    const Write* write;
    std::filesystem::path path;
    FileModel model;
    std::string outcome;
    nlohmann::json evidence;
};

void store(const File& file, std::uint64_t offset, std::span<const std::byte> data) {
    const auto length = static_cast<std::size_t>(offset + data.size());
    void* memory = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor(), 0);
    if (memory == MAP_FAILED) throw SystemFailure("mapping " + file.path().string(), errno);
    std::memcpy(static_cast<std::byte*>(memory) + offset, data.data(), data.size());
    checked(::msync(memory, length, MS_SYNC), "writing a mapping back (msync)");
    checked(::munmap(memory, length), "unmapping " + file.path().string());
}

/// Writes and returns once the data is on the disk.
void carry_out(const Write& write, const std::filesystem::path& path, std::uint64_t offset,
               std::span<const std::byte> data) {
    const File file = File::open(path, O_RDWR | (write.engine == Engine::direct ? O_DIRECT : 0));
    if (write.engine == Engine::mapped) {
        store(file, offset, data);
    } else {
        file.write_at(offset, data);
    }
    file.sync();
}

/// "exact", or in what the file differs from its model. Zeros on the disk where unwritten blocks would do have a name of
/// their own: they cost writes, but harm nobody.
std::string compare(Written& written, const AllocationUnits& units) {
    const File file = File::open(written.path, O_RDWR);
    written.evidence["after"] = describe_file(file);
    const auto difference = find_difference(written.model, file, units);
    if (!difference) return "exact";
    written.evidence["detail"] = difference->detail;
    FileModel zeroed = written.model;
    zeroed.let_unwritten_be_zeroed();
    return find_difference(zeroed, file, units) ? difference->what : "zeroed beside it";
}

Written observe_write(const Write& write, const std::filesystem::path& path, std::uint32_t number,
                      const AllocationUnits& units) {
    const std::uint64_t size = std::max(fewest_blocks * units.block, units.step);
    Written written{&write, path, FileModel(units.block, units.step), {}, {{"offset", 0}}};
    {
        const File file = File::create(path);
        const int error = file.fallocate(write.behind_end ? FALLOC_FL_KEEP_SIZE : 0, 0, size);
        if (error != 0) throw SystemFailure("preallocating " + path.string(), error);
        written.evidence["before"] = describe_file(file);
    }
    written.model.allocate(0, size, write.behind_end);

    // A mapping writes whole pages.
    const std::uint64_t block = write.engine == Engine::mapped
                                    ? std::max<std::uint64_t>(units.block, static_cast<std::uint64_t>(::getpagesize()))
                                    : units.block;
    const std::uint64_t start = write.block >= 0 ? static_cast<std::uint64_t>(write.block) * units.block / block * block
                                                 : size - static_cast<std::uint64_t>(-write.block) * block;
    const std::uint64_t offset = start + write.bytes_in;
    AlignedBuffer data(write.blocks * block + write.bytes);
    fill_data(data.bytes(), {.file = number, .generation = 1}, offset);
    carry_out(write, path, offset, data.bytes());
    written.model.write(offset, data.bytes());
    written.evidence["offset"] = offset;
    written.evidence["length"] = data.size();
    written.outcome = compare(written, units);
    return written;
}

/// All blocks one by one, from the last to the first: in the end nothing may be left unwritten.
std::string write_backwards(const std::filesystem::path& path, const AllocationUnits& units) {
    const std::uint64_t size = std::max(fewest_blocks * units.block, units.step);
    const File file = File::create(path, O_DIRECT);
    const int error = file.fallocate(0, 0, size);
    if (error != 0) throw SystemFailure("preallocating " + path.string(), error);
    AlignedBuffer data(units.block);
    for (std::uint64_t end = size; end > 0; end -= units.block) {
        fill_data(data.bytes(), {.file = 1, .generation = 1}, end - units.block);
        file.write_at(end - units.block, data.bytes());
    }
    const auto extents = read_extents(file.descriptor());
    return bytes_in_state(extents, ExtentState::written, 0, size) == size ? "written" : summarize(extents);
}

void run(Experiment& experiment) {
    DisposableFilesystem& filesystem = experiment.filesystem();
    const AllocationUnits units = allocation_units(filesystem);
    {
        const File file = File::create(filesystem.root() / "untouched");
        const int error = file.fallocate(0, 0, units.step);
        const auto found = runs(read_extents(file.descriptor()), 0, units.step);
        experiment.observe("preallocation",
                           error != 0 ? error_name(error) : std::string(state_name(found.front().state)));
        if (error != 0) return;
    }
    std::vector<Written> all;
    std::uint32_t number = 0;
    for (const Write& write : writes) {
        ++number;
        all.push_back(observe_write(write, filesystem.root() / fmt::format("file-{}", number), number, units));
    }
    filesystem.remount();
    for (Written& written : all) {
        const std::string later = compare(written, units);
        if (later != written.outcome) written.outcome = fmt::format("{}, after a remount {}", written.outcome, later);
        experiment.observe(std::string(written.write->where), written.outcome, written.evidence);
    }
    experiment.observe("direct, all blocks backwards", write_backwards(filesystem.root() / "backwards", units));
}

}  // namespace

extern const Case unwritten_extent_state;
const Case unwritten_extent_state{
    .name = "unwritten.extent_state",
    .summary = "writes into preallocated blocks and checks that exactly these become written",
    .method =
        "Files are preallocated on a disk full of poison, then a part is written: first, middle, last, unaligned, "
        "behind the end of file; with O_DIRECT, through the page cache, through a mapping. Size, content, extents "
        "(FIEMAP) and block count are compared with a model at once and after a remount.",
    .disk = DiskNeed::poisoned,
    .run = run,
};

}  // namespace holdfast::cases
