// Counts the filesystem's free blocks before, during and after every mode has been at work.
// Contract: what a file takes is what its st_blocks says; what a hole, a collapsed range or an emptied file gives back is
// free again.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>
#include <sys/stat.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "cases/fallocate/shared/mode.h"
#include "cases/fallocate/shared/scene.h"
#include "cases/fallocate/shared/space.h"
#include "fixtures/base/bytes.h"
#include "fixtures/base/failure.h"

namespace holdfast::cases {

using namespace holdfast::fallocate;

namespace {

constexpr const char* dropped_name = "dropped";

std::int64_t occupied(const File& file) {
    struct stat status {};
    checked(::fstat(file.descriptor(), &status), "fstat of " + file.path().string());
    return status.st_blocks * 512;
}

std::int64_t free_bytes(DisposableFilesystem& filesystem) {
    return static_cast<std::int64_t>(space_of(File::open(filesystem.root(), O_RDONLY | O_DIRECTORY)).free);
}

/// Many small calls, so that extents are split and joined, and one that goes past the end. What was refused.
std::optional<std::string> work(const File& file, const Mode& mode, const AllocationUnits& units) {
    std::optional<std::string> refused;
    const auto call = [&](std::uint64_t offset, std::uint64_t length) {
        const int error = file.fallocate(mode.flags, offset, length);
        if (error != 0 && !refused)
            refused = fmt::format("{} for {} of {} bytes at {}", error_name(error), mode.name, length, offset);
    };
    const std::uint64_t calls = mode.moves_data() ? 5 : 8;
    for (std::uint64_t i = 1; i < calls; ++i) call(2 * i * units.step, units.step);
    if (mode.moves_data()) return refused;
    call(units.step + 100, 9 * units.step);
    call(15 * units.step, 8 * units.step);
    return refused;
}

/// What the pages were promised goes back with them.
void drop_dirty_pages(const std::filesystem::path& root, const AllocationUnits& units) {
    const auto file = File::open(root / dropped_name, O_RDWR);
    file.write_at(0, std::vector<std::byte>(64 * units.step, std::byte{1}));
    file.truncate(0);
}

void run(Experiment& experiment) {
    DisposableFilesystem& filesystem = experiment.filesystem();
    const AllocationUnits units = allocation_units(filesystem);
    const auto modes = supported_modes(filesystem.root(), units.step);
    std::uint32_t number = 0;
    // With all inodes there, so that none has to be made later.
    for (const Mode& mode : modes) {
        (void)File::create(filesystem.root() / mode.name);
    }
    (void)File::create(filesystem.root() / dropped_name);
    filesystem.remount();
    const std::int64_t free_before = free_bytes(filesystem);

    std::int64_t taken = 0;
    std::optional<std::string> refused;
    nlohmann::json files = nlohmann::json::object();
    for (const Mode& mode : modes) {
        const auto path = filesystem.root() / mode.name;
        std::filesystem::remove(path);
        // Dirty: the blocks of the data are only promised yet.
        const Scene scene{mode.name, "DDDDHHUUDDDDDDDDDDDD", {0, 0}, {0, 0}, 0, true};
        const Stage stage = set_up(scene, path, ++number, units);
        if (const auto wrong = work(stage.file, mode, units); wrong && !refused) refused = wrong;
        stage.file.sync_filesystem();
    }
    drop_dirty_pages(filesystem.root(), units);
    experiment.observe("calls", refused ? *refused : "work");
    const std::int64_t free_at_once = free_bytes(filesystem);
    filesystem.remount();
    for (const Mode& mode : modes) {
        const File file = File::open(filesystem.root() / mode.name, O_RDONLY);
        files[std::string(mode.name)] = describe_file(file);
        taken += occupied(file);
    }
    const std::int64_t free_during = free_bytes(filesystem);
    experiment.observe({.name = "taken beyond what st_blocks says",
                        .value = free_before - free_during - taken,
                        .unit = "bytes",
                        .evidence = {{"files", files}, {"free before", free_before}, {"free now", free_during}}});

    experiment.observe({.name = "still promised after a sync", .value = free_during - free_at_once, .unit = "bytes"});

    for (const Mode& mode : modes) File::open(filesystem.root() / mode.name, O_RDWR).truncate(0);
    filesystem.remount();
    std::int64_t left = 0;
    for (const Mode& mode : modes) left += occupied(File::open(filesystem.root() / mode.name, O_RDONLY));
    experiment.observe({.name = "st_blocks of emptied files", .value = left, .unit = "bytes"});
    experiment.observe({.name = "not given back by emptied files",
                        .value = free_before - free_bytes(filesystem),
                        .unit = "bytes",
                        .evidence = {{"free before", free_before}}});
}

}  // namespace

extern const Case fallocate_free_space;
const Case fallocate_free_space{
    .name = "fallocate.free_space",
    .summary = "counts free blocks before, during and after every mode has been at work",
    .method =
        "For each mode a file of data, holes and preallocated blocks gets up to nine calls of it, and one more is "
        "emptied "
        "while it is dirty. The free space (statfs) must be the same before a remount and after it, and must have "
        "shrunk by just what the files' st_blocks says; once the files are emptied and the filesystem is mounted "
        "again, all of it must be back. fsck looks at the same from the other side when the case ends.",
    .needs = {},
    .run = run,
};

}  // namespace holdfast::cases
