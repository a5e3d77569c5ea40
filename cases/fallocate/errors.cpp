// Calls fallocate(2) wrongly, in one way at a time and in two ways at once.
// Contract: each call is refused with the errno of the manual page, in the kernel's order of checks, and changes nothing.

#include <array>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "cases/fallocate/shared/scene.h"
#include "fixtures/base/descriptor.h"
#include "fixtures/base/failure.h"

namespace holdfast::cases {

using namespace holdfast::fallocate;

namespace {

constexpr int unknown_mode = 0x4000;
constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

/// A call on a file of four steps of data.
struct WrongCall {
    std::string_view name;
    int flags;
    Place offset;
    Place length;
    int open_flags = O_RDWR;
};

constexpr std::array wrong_calls{
    WrongCall{"length 0", 0, {0, 0}, {0, 0}},
    WrongCall{"negative length", 0, {0, 0}, {0, -4096}},
    WrongCall{"negative offset", 0, {0, -1}, {1, 0}},
    WrongCall{"length 0, PUNCH_HOLE", FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, {0, 0}, {0, 0}},
    WrongCall{"unknown mode", unknown_mode, {0, 0}, {1, 0}},
    WrongCall{"PUNCH_HOLE without KEEP_SIZE", FALLOC_FL_PUNCH_HOLE, {0, 0}, {1, 0}},
    WrongCall{"PUNCH_HOLE with ZERO_RANGE",
              FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE,
              {0, 0},
              {1, 0}},
    WrongCall{"COLLAPSE_RANGE with KEEP_SIZE", FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_KEEP_SIZE, {0, 0}, {1, 0}},
    WrongCall{"INSERT_RANGE with KEEP_SIZE", FALLOC_FL_INSERT_RANGE | FALLOC_FL_KEEP_SIZE, {0, 0}, {1, 0}},
    WrongCall{"read-only descriptor", 0, {0, 0}, {1, 0}, O_RDONLY},
    WrongCall{"past the largest size", 0, {0, largest - 4096}, {0, 8192}},
    WrongCall{"past the largest offset", 0, {0, largest}, {0, 4096}},
    // Which of two errors comes first.
    WrongCall{"length 0 before unknown mode", unknown_mode, {0, 0}, {0, 0}},
    WrongCall{"unknown mode before read-only descriptor", unknown_mode, {0, 0}, {1, 0}, O_RDONLY},
    WrongCall{"read-only descriptor before past the largest size", 0, {0, largest}, {0, 4096}, O_RDONLY},
    // What the filesystem itself checks.
    WrongCall{"COLLAPSE_RANGE with an unaligned offset", FALLOC_FL_COLLAPSE_RANGE, {0, 512}, {1, 0}},
    WrongCall{"COLLAPSE_RANGE with an unaligned length", FALLOC_FL_COLLAPSE_RANGE, {0, 0}, {1, -512}},
    WrongCall{"COLLAPSE_RANGE to the end", FALLOC_FL_COLLAPSE_RANGE, {2, 0}, {2, 0}},
    WrongCall{"COLLAPSE_RANGE past the end", FALLOC_FL_COLLAPSE_RANGE, {3, 0}, {2, 0}},
    WrongCall{"INSERT_RANGE with an unaligned offset", FALLOC_FL_INSERT_RANGE, {0, 512}, {1, 0}},
    WrongCall{"INSERT_RANGE with an unaligned length", FALLOC_FL_INSERT_RANGE, {1, 0}, {1, -512}},
    WrongCall{"INSERT_RANGE at the end", FALLOC_FL_INSERT_RANGE, {4, 0}, {1, 0}},
    WrongCall{"INSERT_RANGE past the end", FALLOC_FL_INSERT_RANGE, {5, 0}, {1, 0}},
};

std::string outcome_of(int error) { return error == 0 ? "accepted" : error_name(error); }

/// Makes the call on an untouched file and looks whether the file is untouched still.
std::string refuse(const WrongCall& call, const std::filesystem::path& path, std::uint32_t number,
                   const AllocationUnits& units, nlohmann::json& evidence) {
    const Stage stage = set_up({call.name, "DDDD", call.offset, call.length}, path, number, units);
    const File file = File::open(path, call.open_flags);
    const int error = file.fallocate(call.flags, stage.offset, stage.length);
    std::string outcome = outcome_of(error);
    evidence = describe_file(file);
    const auto difference = find_difference(stage.model, file, units);
    if (error != 0 && difference) {
        outcome += ", but " + difference->what;
        evidence["detail"] = difference->detail;
    }
    return outcome;
}

/// Files of other kinds than regular ones.
void observe_other_files(Experiment& experiment) {
    std::array<int, 2> ends{};
    checked(::pipe2(ends.data(), O_CLOEXEC), "making a pipe");
    const Descriptor reader(ends[0]);
    const Descriptor pipe(ends[1]);
    const int result = ::fallocate(pipe.get(), 0, 0, 4096);
    experiment.observe("pipe", outcome_of(result == 0 ? 0 : errno));

    const File directory = File::open(experiment.filesystem().root(), O_RDONLY | O_DIRECTORY);
    experiment.observe("directory", outcome_of(directory.fallocate(0, 0, 4096)));
    const File device = File::open("/dev/null", O_WRONLY);
    experiment.observe("character device", outcome_of(device.fallocate(0, 0, 4096)));
}

void set_attribute(const File& file, int attribute) {
    int attributes = 0;
    checked(::ioctl(file.descriptor(), FS_IOC_GETFLAGS, &attributes), "reading file attributes (lsattr)");
    attributes = (attributes & ~(FS_APPEND_FL | FS_IMMUTABLE_FL)) | attribute;
    checked(::ioctl(file.descriptor(), FS_IOC_SETFLAGS, &attributes), "changing file attributes (chattr)");
}

/// Files with chattr +a and +i. The descriptor is older than the attribute.
void observe_attributes(Experiment& experiment, const AllocationUnits& units, std::uint32_t number) {
    const auto path = experiment.filesystem().root() / "attributes";
    const Stage stage = set_up({"attributes", "DDDD", {0, 0}, {1, 0}}, path, number, units);
    const auto call = [&](int flags) { return outcome_of(stage.file.fallocate(flags, 0, units.step)); };
    set_attribute(stage.file, FS_APPEND_FL);
    experiment.observe("append-only file, PUNCH_HOLE", call(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE));
    experiment.observe("append-only file, KEEP_SIZE", call(FALLOC_FL_KEEP_SIZE));
    set_attribute(stage.file, FS_IMMUTABLE_FL);
    experiment.observe("immutable file", call(0));
    set_attribute(stage.file, 0);
    const auto difference = find_difference(stage.model, stage.file, units);
    experiment.observe("attributed file afterwards", difference ? difference->what : "unchanged",
                       difference ? nlohmann::json{{"detail", difference->detail}} : nlohmann::json::object());
}

void run(Experiment& experiment) {
    const AllocationUnits units = allocation_units(experiment.filesystem());
    std::uint32_t number = 0;
    for (const WrongCall& call : wrong_calls) {
        const auto path = experiment.filesystem().root() / fmt::format("file-{}", ++number);
        nlohmann::json evidence;
        std::string outcome = refuse(call, path, number, units, evidence);
        std::filesystem::remove(path);
        experiment.observe(std::string(call.name), std::move(outcome), std::move(evidence));
    }
    observe_other_files(experiment);
    observe_attributes(experiment, units, ++number);
}

}  // namespace

extern const Case fallocate_errors;
const Case fallocate_errors{
    .name = "fallocate.errors",
    .summary = "calls fallocate(2) wrongly and checks errno, the order of the checks, and that nothing changes",
    .method =
        "Each wrong call gets a fresh file of data. Size, content, extents and block count are compared with what "
        "they were before; the errno is the observation.",
    .needs = {{"capability", "CAP_LINUX_IMMUTABLE"}},
    .run = run,
};

}  // namespace holdfast::cases
