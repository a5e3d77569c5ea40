// Calls fallocate(2) through descriptors of every kind.
// Contract: who can write can allocate, at the offset that it says, whatever O_APPEND, O_DIRECT or the file's name are; who
// cannot write gets EBADF.
#include <array>
#include <cerrno>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>
#include <sys/mount.h>
#include <unistd.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "cases/fallocate/shared/mode.h"
#include "cases/fallocate/shared/scene.h"
#include "fixtures/base/failure.h"

namespace holdfast::cases {

using namespace holdfast::fallocate;

namespace {

struct Way {
    std::string_view name;
    int flags;
    /// The file loses its name before the call.
    bool unlinked = false;
};

constexpr std::array writing{
    Way{"O_WRONLY", O_WRONLY},
    Way{"O_APPEND", O_RDWR | O_APPEND},
    Way{"O_DIRECT", O_RDWR | O_DIRECT},
    Way{"O_SYNC", O_RDWR | O_SYNC},
    Way{"O_DSYNC", O_RDWR | O_DSYNC},
    Way{"O_NONBLOCK", O_RDWR | O_NONBLOCK},
    Way{"O_NOATIME", O_RDWR | O_NOATIME},
    Way{"no name", O_RDWR, true},
};
constexpr std::array not_writing{Way{"O_RDONLY", O_RDONLY}, Way{"O_PATH", O_PATH},
                                 Way{"no name, O_RDONLY", O_RDONLY, true}};

/// In steps, so that COLLAPSE_RANGE and INSERT_RANGE take it; past the end where the mode extends.
std::uint64_t length_for(const Mode& mode, const AllocationUnits& units) {
    return (mode.extends() ? 8 : 3) * units.step;
}

/// The mode works through `way` as it does through any descriptor.
std::string call_through(const Way& way, const Mode& mode, const std::filesystem::path& path, std::uint32_t number,
                         const AllocationUnits& units, nlohmann::json& evidence) {
    Stage stage = set_up({way.name, "DDHHDD", {1, 0}, {0, 0}}, path, number, units);
    const File file = File::open(path, way.flags);
    if (way.unlinked) std::filesystem::remove(path);
    const std::uint64_t length = length_for(mode, units);
    const int error = file.fallocate(mode.flags, stage.offset, length);
    if (error == 0) mode.apply(stage.model, stage.offset, length);
    const auto difference = find_difference(stage.model, stage.file, units);
    if (!way.unlinked) std::filesystem::remove(path);
    if (!difference) return outcome_of(error);
    evidence = {{"mode", mode.name}, {"detail", difference->detail}};
    return outcome_of(error) + ", but " + difference->what;
}

/// The same for all modes that the filesystem has: what the first said, or the first that said otherwise.
void observe_way(Experiment& experiment, const Way& way, std::span<const Mode> modes, const AllocationUnits& units,
                 std::uint32_t& number) {
    std::string outcome;
    nlohmann::json evidence = nlohmann::json::object();
    for (const Mode& mode : modes) {
        const auto path = experiment.filesystem().root() / fmt::format("file-{}", ++number);
        nlohmann::json seen = nlohmann::json::object();
        const std::string said = call_through(way, mode, path, number, units, seen);
        if (outcome.empty()) {
            outcome = said;
            evidence = seen;
        } else if (said != outcome) {
            outcome = fmt::format("{}, but {} ({})", outcome, said, mode.name);
            evidence = seen;
            break;
        }
    }
    experiment.observe(std::string(way.name), outcome, evidence);
}

/// While it lives, a second look at the filesystem of `root` lets nobody write there.
class ReadOnlyMount {
 public:
    explicit ReadOnlyMount(std::filesystem::path root) : root_(std::move(root)) { change(MS_RDONLY); }
    ReadOnlyMount(const ReadOnlyMount&) = delete;
    ReadOnlyMount& operator=(const ReadOnlyMount&) = delete;
    ~ReadOnlyMount() {
        if (::mount(nullptr, root_.c_str(), nullptr, MS_REMOUNT | MS_BIND, nullptr) != 0)
            fmt::print(stderr, "making {} writable again: {}\n", root_.string(), error_name(errno));
    }

 private:
    void change(unsigned long flags) {
        checked(::mount(nullptr, root_.c_str(), nullptr, MS_REMOUNT | MS_BIND | flags, nullptr),
                "making " + root_.string() + " read-only (mount)");
    }
    std::filesystem::path root_;
};

void observe_read_only_mount(Experiment& experiment, const AllocationUnits& units) {
    const auto path = experiment.filesystem().root() / "read-only";
    { (void)set_up({"read-only", "DDDD", {0, 0}, {0, 0}}, path, 1, units); }
    const ReadOnlyMount mount(experiment.filesystem().root());
    const Descriptor writer(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    experiment.observe("read-only mount, open for writing", outcome_of(writer.valid() ? 0 : errno));
    const File reader = File::open(path, O_RDONLY);
    experiment.observe("read-only mount, O_RDONLY", outcome_of(reader.fallocate(0, 0, units.step)));
}

void observe_closed(Experiment& experiment) {
    const auto call = [](int descriptor) { return outcome_of(::fallocate(descriptor, 0, 0, 4096) == 0 ? 0 : errno); };
    experiment.observe("descriptor -1", call(-1));
    const File file = File::create(experiment.filesystem().root() / "closed");
    const int number = checked(::dup(file.descriptor()), "dup");
    ::close(number);
    experiment.observe("closed descriptor", call(number));
}

void run(Experiment& experiment) {
    const AllocationUnits units = allocation_units(experiment.filesystem());
    const auto modes = supported_modes(experiment.filesystem().root(), units.step);
    std::uint32_t number = 0;
    for (const Way& way : writing) observe_way(experiment, way, modes, units, number);
    for (const Way& way : not_writing) observe_way(experiment, way, modes, units, number);
    observe_closed(experiment);
    observe_read_only_mount(experiment, units);
}

}  // namespace

extern const Case fallocate_descriptors;
const Case fallocate_descriptors{
    .name = "fallocate.descriptors",
    .summary = "calls fallocate in every mode through descriptors of every kind",
    .method =
        "Each mode that the filesystem has works on a file through O_WRONLY, O_APPEND, O_DIRECT, O_SYNC and other "
        "descriptors, and without a name; size, content, extents and block count are compared with a model. "
        "Descriptors that cannot write, closed ones, and those of a read-only mount must be refused and change "
        "nothing.",
    .needs = {},
    .run = run,
};

}  // namespace holdfast::cases
