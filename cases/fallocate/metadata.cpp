// Calls every mode on a file and looks at what belongs to the file besides its data.
// Contract: a call that changes the file moves mtime and ctime, takes away setuid, setgid and file capabilities as a write
// does, and is told to who watches the file; one that is refused does nothing of that.
#include <array>
#include <ctime>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <linux/falloc.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "cases/fallocate/shared/mode.h"
#include "cases/fallocate/shared/scene.h"
#include "fixtures/base/failure.h"
#include "fixtures/base/without_capability.h"

namespace holdfast::cases {

using namespace holdfast::fallocate;

namespace {

constexpr std::time_t long_ago = 1'000'000'000;  // 2001
constexpr mode_t all_bits = S_ISUID | S_ISGID | 0755;
constexpr const char* capability_name = "security.capability";

/// Tells of IN_MODIFY events of one file.
class Watch {
 public:
    explicit Watch(const std::filesystem::path& path)
        : inotify_(checked(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK), "inotify_init")) {
        checked(::inotify_add_watch(inotify_.get(), path.c_str(), IN_MODIFY), "watching " + path.string());
    }
    /// Whether there was one since the last question.
    [[nodiscard]] bool modified() const {
        std::array<char, 4096> events{};
        return ::read(inotify_.get(), events.data(), events.size()) > 0;
    }

 private:
    Descriptor inotify_;
};

/// All that is looked at of one file.
struct State {
    struct stat status {};
    bool has_capability = false;
};

State state_of(const File& file) {
    State state;
    checked(::fstat(file.descriptor(), &state.status), "fstat of " + file.path().string());
    state.has_capability = ::fgetxattr(file.descriptor(), capability_name, nullptr, 0) > 0;
    return state;
}

/// Times of 2001; ctime alone cannot be set, and becomes what it is now.
void make_old(const File& file) {
    const timespec times[]{{long_ago, 0}, {long_ago, 0}};
    checked(::futimens(file.descriptor(), times), "futimens of " + file.path().string());
}

/// What a program gets that has the right to bind low ports.
void give_capability(const File& file) {
    vfs_cap_data data{};
    data.magic_etc = VFS_CAP_REVISION_2;
    data.data[0].permitted = 1U << CAP_NET_BIND_SERVICE;
    checked(::fsetxattr(file.descriptor(), capability_name, &data, sizeof(data), 0),
            "giving a capability to " + file.path().string());
}

bool same(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

timespec coarse_time() {
    timespec now{};
    checked(::clock_gettime(CLOCK_REALTIME_COARSE, &now), "clock_gettime");
    return now;
}

/// The first mode that did something else than the others should say so.
struct Answer {
    std::string good;
    std::string odd{};
    void add(bool as_wanted, std::string_view otherwise, std::string_view mode) {
        if (!as_wanted && odd.empty()) odd = fmt::format("{} ({})", otherwise, mode);
    }
    [[nodiscard]] std::string text() const { return odd.empty() ? good : odd; }
};

/// A call that is refused, by the system call itself or only by the filesystem. In allocation steps of a file of eight.
struct Refused {
    const char* name;
    int flags;
    std::uint64_t offset;
    std::uint64_t length;
    bool by_the_filesystem;
};
constexpr std::array refused_calls{
    Refused{"length 0", 0, 0, 0, false},
    Refused{"unknown mode", 0x4000, 0, 1, false},
    Refused{"PUNCH_HOLE without KEEP_SIZE", FALLOC_FL_PUNCH_HOLE, 0, 1, false},
    Refused{"COLLAPSE_RANGE to the end", FALLOC_FL_COLLAPSE_RANGE, 4, 4, true},
    Refused{"INSERT_RANGE at the end", FALLOC_FL_INSERT_RANGE, 8, 1, true},
};

class Look {
 public:
    /// ctime is coarse: it moves on with the kernel's tick, whenever that comes.
    static void let_the_clock_move() {
        const timespec start = coarse_time();
        const timespec pause{0, 1'000'000};
        while (same(coarse_time(), start)) ::nanosleep(&pause, nullptr);
    }

    void success(const Mode& mode, int error, const File& file, const State& before, const Watch& watch) {
        const State after = state_of(file);
        calls_.add(error == 0, error_name(error), mode.name);
        mtime_.add(after.status.st_mtim.tv_sec > long_ago, "stays", mode.name);
        ctime_.add(!same(before.status.st_ctim, after.status.st_ctim), "stays", mode.name);
        atime_.add(same(before.status.st_atim, after.status.st_atim), "moves", mode.name);
        setuid_.add((after.status.st_mode & S_ISUID) == 0, "stays", mode.name);
        setgid_.add((after.status.st_mode & S_ISGID) == 0, "stays", mode.name);
        rest_of_mode_.add((after.status.st_mode & 0777) == (all_bits & 0777), "changes", mode.name);
        capability_.add(!after.has_capability, "stays", mode.name);
        told_.add(watch.modified(), "not told", mode.name);
    }
    void refused(const Refused& call, int error, const File& file, const State& before, const Watch& watch) {
        const State after = state_of(file);
        calls_.add(error != 0, "accepted", call.name);
        const bool unchanged = same(before.status.st_mtim, after.status.st_mtim) &&
                               same(before.status.st_ctim, after.status.st_ctim) &&
                               before.status.st_mode == after.status.st_mode && after.has_capability;
        (call.by_the_filesystem ? untouched_by_filesystem_ : untouched_).add(unchanged, "changed", call.name);
        silent_.add(!watch.modified(), "told", call.name);
    }
    void after_remount(const Mode& mode, const File& file) {
        const State after = state_of(file);
        kept_.add(after.status.st_mtim.tv_sec > long_ago && (after.status.st_mode & (S_ISUID | S_ISGID)) == 0, "lost",
                  mode.name);
    }
    void observe(Experiment& experiment, const nlohmann::json& evidence) const {
        const auto say = [&](const char* name, const Answer& answer) {
            experiment.observe(name, answer.text(), evidence);
        };
        say("calls", calls_);
        say("mtime", mtime_);
        say("ctime", ctime_);
        say("atime", atime_);
        say("setuid", setuid_);
        say("setgid", setgid_);
        say("permissions", rest_of_mode_);
        say("file capability", capability_);
        say("who watches", told_);
        say("times and setuid after a remount", kept_);
        say("file after a refused call", untouched_);
        say("file after a call that the filesystem refused", untouched_by_filesystem_);
        say("who watches, after a refused call", silent_);
    }

 private:
    Answer calls_{"as expected"};
    Answer mtime_{"moves"};
    Answer ctime_{"moves"};
    Answer atime_{"stays"};
    Answer setuid_{"taken away"};
    Answer setgid_{"taken away"};
    Answer rest_of_mode_{"stay"};
    Answer capability_{"taken away"};
    Answer told_{"told"};
    Answer kept_{"kept"};
    Answer untouched_{"unchanged"};
    Answer untouched_by_filesystem_{"unchanged"};
    Answer silent_{"not told"};
};

/// A file with all that a call may take away.
Stage make_file(const std::filesystem::path& path, std::uint32_t number, const AllocationUnits& units) {
    Stage stage = set_up({"metadata", "DDHHDDDD", {1, 0}, {3, 0}}, path, number, units);
    checked(::fchmod(stage.file.descriptor(), all_bits), "chmod of " + path.string());
    give_capability(stage.file);
    make_old(stage.file);
    return stage;
}

void run(Experiment& experiment) {
    DisposableFilesystem& filesystem = experiment.filesystem();
    const AllocationUnits units = allocation_units(filesystem);
    const std::vector<Mode> modes = supported_modes(filesystem.root(), units.step);
    Look look;
    std::uint32_t number = 0;
    for (const Mode& mode : modes) {
        const Stage stage = make_file(filesystem.root() / mode.name, ++number, units);
        const Watch watch(stage.file.path());
        const State before = state_of(stage.file);
        Look::let_the_clock_move();
        // Who has CAP_FSETID keeps setuid and setgid.
        const WithoutCapability unprivileged(CAP_FSETID);
        const std::uint64_t length = (mode.extends() ? 9 : 3) * units.step;
        look.success(mode, stage.file.fallocate(mode.flags, units.step, length), stage.file, before, watch);
    }
    for (const Refused& call : refused_calls) {
        const Stage stage = make_file(filesystem.root() / call.name, ++number, units);
        const Watch watch(stage.file.path());
        const State before = state_of(stage.file);
        Look::let_the_clock_move();
        const WithoutCapability unprivileged(CAP_FSETID);
        const int error = stage.file.fallocate(call.flags, call.offset * units.step, call.length * units.step);
        look.refused(call, error, stage.file, before, watch);
    }
    filesystem.remount();
    for (const Mode& mode : modes) look.after_remount(mode, File::open(filesystem.root() / mode.name, O_RDONLY));
    look.observe(experiment, {{"modes", names_of(modes)}});
}

}  // namespace

extern const Case fallocate_metadata;
const Case fallocate_metadata{
    .name = "fallocate.metadata",
    .summary = "calls fallocate in every mode and looks at times, setuid, setgid, capabilities and who is told",
    .method =
        "Each mode that the filesystem has works on a file with times of 2001, setuid, setgid and a file capability, "
        "which inotify watches, in a thread without CAP_FSETID. Times and bits are looked at afterwards and after a "
        "remount. Calls that are refused must leave all as it was.",
    .needs = {{"capability", "CAP_FSETID"}},
    .run = run,
};

}  // namespace holdfast::cases
