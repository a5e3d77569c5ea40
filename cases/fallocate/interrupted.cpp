// Sends signals to a process in the middle of long fallocate calls: ones that it handles, and at last SIGKILL.
// Contract: a call returns 0, or EINTR with the file in a state between before and after; a killed process leaves such a
// state too, and a filesystem in order.
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "cases/fallocate/shared/mode.h"
#include "cases/fallocate/shared/scene.h"
#include "fixtures/base/bytes.h"
#include "fixtures/base/failure.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {

using namespace holdfast::fallocate;

namespace {

/// Every other step is a hole: as many extents as make a call long enough to be met by a signal.
constexpr std::uint64_t steps_wanted = 150;
constexpr int rounds = 2;
constexpr int kills = 3;

std::atomic<std::uint64_t> signals = 0;

/// A signal to this thread again and again, while it lives.
class Storm {
 public:
    explicit Storm(std::chrono::microseconds interval) {
        struct sigaction count {};
        count.sa_handler = [](int) { ++signals; };  // without SA_RESTART: a call that can be interrupted says so
        checked(::sigaction(SIGUSR1, &count, &before_), "sigaction of SIGUSR1");
        sigevent event{};
        event.sigev_notify = SIGEV_THREAD_ID;
        event.sigev_signo = SIGUSR1;
        event._sigev_un._tid = static_cast<pid_t>(::syscall(SYS_gettid));
        checked(::timer_create(CLOCK_MONOTONIC, &event, &timer_), "timer_create");
        const timespec period{0, static_cast<long>(std::chrono::nanoseconds(interval).count())};
        const itimerspec often{period, period};
        checked(::timer_settime(timer_, 0, &often, nullptr), "timer_settime");
    }
    Storm(const Storm&) = delete;
    Storm& operator=(const Storm&) = delete;
    ~Storm() {
        ::timer_delete(timer_);
        ::sigaction(SIGUSR1, &before_, nullptr);
    }

 private:
    struct sigaction before_ {};
    timer_t timer_{};
};

struct Comb {
    File file;
    FileModel model;
};

Comb make_comb(const std::filesystem::path& path, std::uint32_t number, const AllocationUnits& units) {
    const std::uint64_t steps = std::clamp<std::uint64_t>(16 * MiB / units.step, 8, steps_wanted);
    Comb comb{File::create(path), FileModel(units.block, units.step)};
    comb.file.truncate(steps * units.step);
    comb.model.grow(steps * units.step);
    std::vector<std::byte> data(units.step);
    for (std::uint64_t i = 0; i < steps; i += 2) {
        fill_data(data, {.file = number, .generation = 1}, i * units.step);
        comb.file.write_at(i * units.step, data);
        comb.model.write(i * units.step, data);
    }
    comb.file.sync();
    return comb;
}

struct Range {
    std::uint64_t offset;
    std::uint64_t length;
};

Range range_for(const Mode& mode, const FileModel& model, const AllocationUnits& units) {
    const std::uint64_t whole = model.size() / units.step;
    if (mode.moves_data()) return {2 * units.step, 5 * units.step};
    return {units.step, (whole - 2 + (mode.extends() ? 8 : 0)) * units.step};
}

/// Whether each byte of the file is one that it had before the call or is to have after it, at its old place or its new.
std::optional<std::string> between(const File& file, const FileModel& before, const FileModel& after) {
    const std::uint64_t size = file.size();
    if (size < std::min(before.size(), after.size()) || size > std::max(before.size(), after.size()))
        return fmt::format("size {}, neither {} nor {}", size, before.size(), after.size());
    std::vector<std::byte> content(size);
    content.resize(file.read_at(0, content));
    for (std::uint64_t at = 0; at + sector_size <= content.size(); at += sector_size) {
        const auto sector = std::span(content).subspan(at, sector_size);
        const auto is_of = [&](const FileModel& model) {
            return at + sector_size <= model.size() &&
                   std::ranges::equal(sector, model.content().subspan(at, sector_size));
        };
        if (!is_of(before) && !is_of(after) && !is_zeros(sector))
            return fmt::format("the sector at {} is neither as before nor as after", at);
    }
    return std::nullopt;
}

/// One call under the storm. What is wrong with the file then.
std::optional<std::string> call(const Mode& mode, Comb& comb, const AllocationUnits& units,
                                std::uint64_t& interrupted) {
    const Range range = range_for(mode, comb.model, units);
    FileModel after = comb.model;
    mode.apply(after, range.offset, range.length);
    int error = 0;
    {
        const Storm storm(std::chrono::microseconds{50});
        if (::fallocate(comb.file.descriptor(), mode.flags, static_cast<off_t>(range.offset),
                        static_cast<off_t>(range.length)) != 0)
            error = errno;
    }
    if (error == EINTR) {
        ++interrupted;
        if (auto wrong = between(comb.file, comb.model, after)) return "after EINTR: " + *wrong;
        // The rest is done without a storm, where the same call once more leads to the same end.
        if (mode.moves_data()) return std::nullopt;
        error = comb.file.fallocate(mode.flags, range.offset, range.length);
    }
    if (error != 0) return fmt::format("{} answers {}", mode.name, error_name(error));
    comb.model = after;
    const auto difference = find_difference(comb.model, comb.file, units, Tree::left_from_before);
    if (difference) return fmt::format("{}: {}", difference->what, difference->detail);
    return std::nullopt;
}

void observe_storm(Experiment& experiment, std::span<const Mode> modes, const AllocationUnits& units) {
    std::uint32_t number = 0;
    std::uint64_t interrupted = 0;
    std::string outcome = "right";
    nlohmann::json evidence = nlohmann::json::object();
    signals = 0;
    for (const Mode& mode : modes) {
        const auto path = experiment.filesystem().root() / fmt::format("file-{}", ++number);
        Comb comb = make_comb(path, number, units);
        for (int round = 0; round < rounds && outcome == "right"; ++round) {
            if (const auto wrong = call(mode, comb, units, interrupted)) {
                outcome = fmt::format("wrong ({})", mode.name);
                evidence["detail"] = *wrong;
            }
        }
        std::filesystem::remove(path);
    }
    evidence["signals"] = signals.load();
    evidence["calls that returned EINTR"] = interrupted;
    experiment.observe("under a storm of signals", outcome, evidence);
}

/// A process that calls `mode` and is killed somewhere in it. Plain fork(2): the child makes one system call after the
/// other in the parent's image, and nothing may be run in its place.
void call_and_be_killed(const Mode& mode, const Comb& comb, Range range, std::chrono::microseconds after) {
    std::array<int, 2> ends{};
    checked(::pipe2(ends.data(), O_CLOEXEC), "making a pipe");
    const Descriptor reader(ends[0]);
    Descriptor writer(ends[1]);
    const pid_t child = checked(::fork(), "fork");
    if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        const char ready = 1;
        if (::write(writer.get(), &ready, 1) != 1) ::_exit(2);
        const int result = ::fallocate(comb.file.descriptor(), mode.flags, static_cast<off_t>(range.offset),
                                       static_cast<off_t>(range.length));
        ::_exit(result == 0 ? 0 : 1);
    }
    writer.reset();
    char ready = 0;
    (void)!::read(reader.get(), &ready, 1);
    const timespec pause{0, static_cast<long>(std::chrono::nanoseconds(after).count())};
    ::nanosleep(&pause, nullptr);
    ::kill(child, SIGKILL);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
}

void observe_kill(Experiment& experiment, std::span<const Mode> modes, const AllocationUnits& units) {
    std::string outcome = "right";
    nlohmann::json evidence = nlohmann::json::object();
    std::uint32_t number = 1000;
    for (const Mode& mode : modes) {
        if (mode.flags == 0 || mode.flags == FALLOC_FL_ZERO_RANGE) continue;  // with KEEP_SIZE they go the same way
        for (int kill = 0; kill < kills && outcome == "right"; ++kill) {
            const auto path = experiment.filesystem().root() / fmt::format("file-{}", ++number);
            const Comb comb = make_comb(path, number, units);
            const Range range = range_for(mode, comb.model, units);
            FileModel after = comb.model;
            mode.apply(after, range.offset, range.length);
            call_and_be_killed(mode, comb, range, std::chrono::microseconds{kill * kill * 50});
            if (const auto wrong = between(comb.file, comb.model, after)) {
                outcome = fmt::format("wrong ({})", mode.name);
                evidence["detail"] = *wrong;
            }
            std::filesystem::remove(path);
        }
    }
    experiment.observe("after SIGKILL", outcome, evidence);
}

void run(Experiment& experiment) {
    const AllocationUnits units = allocation_units(experiment.filesystem());
    const auto modes = supported_modes(experiment.filesystem().root(), units.step);
    observe_storm(experiment, modes, units);
    observe_kill(experiment, modes, units);
}

}  // namespace

extern const Case fallocate_interrupted;
const Case fallocate_interrupted{
    .name = "fallocate.interrupted",
    .summary = "sends signals to a process in the middle of fallocate calls and looks at what they leave",
    .method =
        "Every mode works on a file of some hundred extents while a timer sends a signal each 50 microseconds: a call "
        "returns 0 with all done, or EINTR with each sector as before or as after. Then processes are killed at "
        "different moments of such calls; their files must be in such a state too, and fsck looks at all of it when "
        "the case ends.",
    .needs = {},
    .run = run,
};

}  // namespace holdfast::cases
