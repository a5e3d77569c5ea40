// Calls fallocate(2) with two things wrong at once, on files of every kind and with every attribute.
// Contract: the errno is that of the check which comes first: arguments, mode, descriptor, attributes, kind of file, size,
// and then what the filesystem itself checks. Nothing changes.
#include <array>
#include <cerrno>
#include <limits>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "cases/fallocate/shared/mode.h"
#include "cases/fallocate/shared/scene.h"
#include "fixtures/base/descriptor.h"
#include "fixtures/base/failure.h"

namespace holdfast::cases {

using namespace holdfast::fallocate;

namespace {

constexpr int unknown_mode = 0x4000;
constexpr int punch_hole = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

/// What the call is made on.
enum class Kind { file, append_only, immutable, pipe, pipe_reader, fifo, socket, directory, device };

struct Call {
    std::string_view name;
    Kind kind;
    int flags;
    std::int64_t offset;
    std::int64_t length;
    int open_flags = O_RDWR;
};

// Offsets and lengths in bytes: no allocation unit is so small.
constexpr std::array calls{
    // Arguments come before everything.
    Call{"negative offset before read-only descriptor", Kind::file, 0, -1, 512, O_RDONLY},
    Call{"negative offset before unknown mode", Kind::file, unknown_mode, -1, 512},
    Call{"length 0 before immutable file", Kind::immutable, 0, 0, 0},
    Call{"length 0 before pipe", Kind::pipe, 0, 0, 0},
    Call{"length 0 before directory", Kind::directory, 0, 0, 0, O_RDONLY | O_DIRECTORY},
    Call{"largest negative numbers", Kind::file, 0, std::numeric_limits<std::int64_t>::min(),
         std::numeric_limits<std::int64_t>::min()},
    // Then the mode.
    Call{"unknown mode before immutable file", Kind::immutable, unknown_mode, 0, 512},
    Call{"PUNCH_HOLE without KEEP_SIZE before append-only file", Kind::append_only, FALLOC_FL_PUNCH_HOLE, 0, 512},
    Call{"PUNCH_HOLE with ZERO_RANGE before pipe", Kind::pipe,
         FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, 0, 512},
    Call{"unknown mode before device", Kind::device, unknown_mode, 0, 512, O_WRONLY},
    Call{"unknown mode before past the largest offset", Kind::file, unknown_mode, largest, 512},
    // Then the descriptor.
    Call{"read-only descriptor before immutable file", Kind::immutable, 0, 0, 512, O_RDONLY},
    Call{"read-only descriptor before append-only file", Kind::append_only, punch_hole, 0, 512, O_RDONLY},
    Call{"reading end before pipe", Kind::pipe_reader, 0, 0, 512},
    Call{"read-only descriptor before unaligned COLLAPSE_RANGE", Kind::file, FALLOC_FL_COLLAPSE_RANGE, 1, 511,
         O_RDONLY},
    // Then attributes.
    Call{"append-only file before past the largest offset", Kind::append_only, punch_hole, largest, 512},
    Call{"immutable file before past the largest offset", Kind::immutable, 0, largest, 512},
    Call{"immutable file before unaligned INSERT_RANGE", Kind::immutable, FALLOC_FL_INSERT_RANGE, 1, 511},
    Call{"append-only file, ZERO_RANGE", Kind::append_only, FALLOC_FL_ZERO_RANGE, 0, 512},
    Call{"append-only file, COLLAPSE_RANGE", Kind::append_only, FALLOC_FL_COLLAPSE_RANGE, 0, 512},
    Call{"append-only file, INSERT_RANGE", Kind::append_only, FALLOC_FL_INSERT_RANGE, 0, 512},
    Call{"immutable file, KEEP_SIZE", Kind::immutable, FALLOC_FL_KEEP_SIZE, 0, 512},
    Call{"immutable file, PUNCH_HOLE", Kind::immutable, punch_hole, 0, 512},
    // Then the kind of file.
    Call{"pipe before past the largest offset", Kind::pipe, 0, largest, 512},
    Call{"named pipe", Kind::fifo, 0, 0, 512},
    Call{"socket", Kind::socket, 0, 0, 512},
    Call{"device before past the largest offset", Kind::device, 0, largest, 512, O_WRONLY},
    // Then the size.
    Call{"past the largest offset before unaligned COLLAPSE_RANGE", Kind::file, FALLOC_FL_COLLAPSE_RANGE, largest - 1,
         511},
    Call{"past the largest offset before INSERT_RANGE past the end", Kind::file, FALLOC_FL_INSERT_RANGE, largest, 4096},
    Call{"past the largest offset, PUNCH_HOLE", Kind::file, punch_hole, largest, 1},
    Call{"past the largest offset, KEEP_SIZE", Kind::file, FALLOC_FL_KEEP_SIZE, 1, largest},
};

void set_attribute(const File& file, int attribute) {
    int attributes = 0;
    checked(::ioctl(file.descriptor(), FS_IOC_GETFLAGS, &attributes), "reading file attributes (lsattr)");
    attributes = (attributes & ~(FS_APPEND_FL | FS_IMMUTABLE_FL)) | attribute;
    checked(::ioctl(file.descriptor(), FS_IOC_SETFLAGS, &attributes), "changing file attributes (chattr)");
}

int attribute_of(Kind kind) {
    return kind == Kind::append_only ? FS_APPEND_FL : kind == Kind::immutable ? FS_IMMUTABLE_FL : 0;
}

int fallocate_on(int descriptor, const Call& call) {
    return ::fallocate(descriptor, call.flags, call.offset, call.length) == 0 ? 0 : errno;
}

int call_on_ends(const Call& call) {
    std::array<int, 2> ends{};
    if (call.kind == Kind::socket)
        checked(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), "making a socket");
    else
        checked(::pipe2(ends.data(), O_CLOEXEC), "making a pipe");
    const Descriptor reader(ends[0]);
    const Descriptor writer(ends[1]);
    return fallocate_on(call.kind == Kind::pipe_reader ? reader.get() : writer.get(), call);
}

/// What is no regular file.
int call_on_other(const Call& call, const std::filesystem::path& root) {
    if (call.kind == Kind::directory) return fallocate_on(File::open(root, call.open_flags).descriptor(), call);
    if (call.kind == Kind::device) return fallocate_on(File::open("/dev/null", call.open_flags).descriptor(), call);
    if (call.kind != Kind::fifo) return call_on_ends(call);
    const auto path = root / "named-pipe";
    checked(::mkfifo(path.c_str(), 0600), "making " + path.string());
    return fallocate_on(File::open(path, call.open_flags).descriptor(), call);
}

/// A file of data, which has to be the same afterwards.
std::string call_on_file(const Call& call, const std::filesystem::path& path, std::uint32_t number,
                         const AllocationUnits& units, nlohmann::json& evidence) {
    const Stage stage = set_up({call.name, "DDDD", {0, 0}, {0, 0}}, path, number, units);
    // An append-only file cannot be opened in this way any more: the descriptor is older than the attribute.
    const File file = File::open(path, call.open_flags);
    set_attribute(stage.file, attribute_of(call.kind));
    const int error = fallocate_on(file.descriptor(), call);
    set_attribute(stage.file, 0);
    std::string outcome = outcome_of(error, "accepted");
    if (const auto difference = find_difference(stage.model, stage.file, units)) {
        outcome += ", and " + difference->what;
        evidence = {{"detail", difference->detail}};
    }
    return outcome;
}

void run(Experiment& experiment) {
    const AllocationUnits units = allocation_units(experiment.filesystem());
    const auto root = experiment.filesystem().root();
    std::uint32_t number = 0;
    for (const Call& call : calls) {
        nlohmann::json evidence = nlohmann::json::object();
        const bool regular = call.kind == Kind::file || attribute_of(call.kind) != 0;
        const auto path = root / fmt::format("file-{}", ++number);
        std::string outcome = regular ? call_on_file(call, path, number, units, evidence)
                                      : outcome_of(call_on_other(call, root), "accepted");
        experiment.observe(std::string(call.name), std::move(outcome), std::move(evidence));
    }
}

}  // namespace

extern const Case fallocate_error_order;
const Case fallocate_error_order{
    .name = "fallocate.error_order",
    .summary = "calls fallocate(2) with two things wrong at once and asks which of them is said",
    .method =
        "Wrong arguments, unknown modes, descriptors that cannot write, append-only and immutable files, pipes, "
        "sockets, directories and devices, and ranges past the largest offset are combined in pairs; the errno tells "
        "which check comes first. Files of data must be the same afterwards.",
    .needs = {{"capability", "CAP_LINUX_IMMUTABLE"}},
    .run = run,
};

}  // namespace holdfast::cases
