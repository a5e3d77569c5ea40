// Calls posix_fallocate(3) and looks at what it did on the disk and by which system calls.
// Contract: it preallocates: blocks are allocated unwritten, and the C library writes nothing in the kernel's place.

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <unistd.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "cases/fallocate/shared/scene.h"
#include "fixtures/base/failure.h"
#include "fixtures/probe/counters.h"
#include "fixtures/probe/extents.h"

namespace holdfast::cases {

using namespace holdfast::fallocate;

namespace {

constexpr std::uint64_t asked_blocks = 64;

std::string outcome_of(int error) { return error == 0 ? "works" : error_name(error); }

/// Write system calls of this thread so far; nothing on a kernel without CONFIG_TASK_IO_ACCOUNTING.
std::optional<std::uint64_t> write_calls() {
    std::ifstream file("/proc/thread-self/io");
    for (std::string name; file >> name;) {
        std::uint64_t number = 0;
        if (name == "syscw:" && file >> number) return number;
    }
    return std::nullopt;
}

/// How a range that was a hole has come to be allocated.
std::string allocation_of(const File& file, std::uint64_t offset, std::uint64_t length) {
    const auto found = runs(read_extents(file.descriptor()), offset, offset + length);
    if (found.size() != 1) return "mixed";
    if (found.front().state == ExtentState::unwritten) return "native";
    if (found.front().state == ExtentState::written) return "emulated";
    return "none";
}

/// A file of two steps of data, extended by posix_fallocate.
void observe_allocation(Experiment& experiment, const AllocationUnits& units) {
    const auto path = experiment.filesystem().root() / "extended";
    Stage stage = set_up({"extended", "DD", {2, 0}, {0, 0}}, path, 1, units);
    const std::uint64_t length = std::max(asked_blocks * units.block, units.step);
    const auto calls_before = write_calls();
    const int error =
        ::posix_fallocate(stage.file.descriptor(), static_cast<off_t>(stage.offset), static_cast<off_t>(length));
    const auto calls_after = write_calls();
    stage.model.allocate(stage.offset, length, false);

    const std::string allocation = allocation_of(stage.file, stage.offset, length);
    nlohmann::json evidence = describe_file(stage.file);
    evidence["C library"] = fmt::format("glibc {}", ::gnu_get_libc_version());
    experiment.observe("result", outcome_of(error));
    experiment.observe("allocation", allocation, evidence);

    const std::uint64_t blocks = length / units.block;
    const bool counted = calls_before && calls_after;
    const std::uint64_t writes = counted ? *calls_after - *calls_before : (allocation == "emulated" ? blocks : 0);
    experiment.observe({.name = "writes per block",
                        .value = static_cast<double>(writes) / static_cast<double>(blocks),
                        .unit = "writes",
                        .evidence = {{"writes", writes},
                                     {"blocks", blocks},
                                     {"source", counted ? "/proc/thread-self/io, syscw" : "states of the extents"}}});
    const auto difference = find_content_difference(stage.model, stage.file);
    experiment.observe("size and content", difference ? difference->what : "right",
                       {{"detail", difference ? difference->detail : ""}});
}

/// A file of data and holes, inside its size: data stays, holes are filled.
void observe_holes(Experiment& experiment, const AllocationUnits& units) {
    const auto path = experiment.filesystem().root() / "holes";
    const Stage stage = set_up({"holes", "DHDH", {0, 0}, {4, 0}}, path, 2, units);
    const int error = ::posix_fallocate(stage.file.descriptor(), 0, static_cast<off_t>(stage.length));
    const auto extents = read_extents(stage.file.descriptor());
    const bool filled = bytes_in_state(extents, ExtentState::hole, 0, stage.length) == 0;
    const auto difference = find_content_difference(stage.model, stage.file);
    experiment.observe("holes below the end",
                       error != 0 ? error_name(error)
                       : filled   ? "filled"
                                  : "left",
                       {{"extents", summarize(extents)}});
    experiment.observe("data below the end", difference ? difference->what : "kept",
                       {{"detail", difference ? difference->detail : ""}});
}

/// Descriptors with which the emulation cannot work: it must read and write single bytes at places of its own.
void observe_descriptors(Experiment& experiment, const AllocationUnits& units) {
    const auto root = experiment.filesystem().root();
    const auto call = [&](const char* name, int flags, Place offset) {
        const Stage stage = set_up({name, "DD", offset, {2, 0}}, root / name, 3, units);
        const File file = File::open(stage.file.path(), flags);
        return outcome_of(
            ::posix_fallocate(file.descriptor(), static_cast<off_t>(stage.offset), static_cast<off_t>(stage.length)));
    };
    experiment.observe("O_APPEND", call("append", O_RDWR | O_APPEND, {2, 0}));
    experiment.observe("O_DIRECT", call("direct", O_RDWR | O_DIRECT, {2, 0}));
    experiment.observe("O_WRONLY, below the end", call("write-only", O_WRONLY, {0, 0}));
    experiment.observe("O_WRONLY, past the end", call("write-only-past", O_WRONLY, {2, 0}));
    experiment.observe("O_RDONLY", call("read-only", O_RDONLY, {2, 0}));
}

/// Calls that have to fail however they are carried out.
void observe_errors(Experiment& experiment) {
    const File file = File::create(experiment.filesystem().root() / "errors");
    experiment.observe("length 0", outcome_of(::posix_fallocate(file.descriptor(), 0, 0)));
    experiment.observe("negative offset", outcome_of(::posix_fallocate(file.descriptor(), -1, 1)));
    const File directory = File::open(experiment.filesystem().root(), O_RDONLY | O_DIRECTORY);
    experiment.observe("directory", outcome_of(::posix_fallocate(directory.descriptor(), 0, 1)));
}

/// What S0 of the project's origins stumbled on: with O_SYNC, each byte of the emulation is a synchronous write.
void observe_synchronous(Experiment& experiment, const AllocationUnits& units) {
    DisposableFilesystem& filesystem = experiment.filesystem();
    const File file = File::create(filesystem.root() / "synchronous", O_SYNC);
    file.sync_filesystem();
    const EventCounter flushes(KernelEvent::flushes, experiment.recipe().type, filesystem.disk().device_number());
    const auto length = static_cast<off_t>(asked_blocks * units.block);
    const int error = ::posix_fallocate(file.descriptor(), 0, length);
    experiment.observe(
        {.name = "flushes with O_SYNC",
         .value = flushes.count(),
         .unit = "flushes",
         .evidence = {{"result", outcome_of(error)}, {"blocks", asked_blocks}, {"source", flushes.source()}}});
}

void run(Experiment& experiment) {
    const AllocationUnits units = allocation_units(experiment.filesystem());
    observe_allocation(experiment, units);
    observe_holes(experiment, units);
    observe_descriptors(experiment, units);
    observe_errors(experiment);
    observe_synchronous(experiment, units);
}

}  // namespace

extern const Case fallocate_posix_fallocate;
const Case fallocate_posix_fallocate{
    .name = "fallocate.posix_fallocate",
    .summary = "tells whether posix_fallocate(3) preallocates or writes a byte into each block",
    .method =
        "posix_fallocate extends a file of data and fills holes below the end. The extents tell unwritten blocks "
        "(native) from written ones (emulated by the C library), /proc/thread-self/io tells how many writes the call "
        "made, and counted flushes what they cost under O_SYNC. Descriptors that the emulation cannot serve follow.",
    .disk = DiskNeed::poisoned,
    .run = run,
};

}  // namespace holdfast::cases
