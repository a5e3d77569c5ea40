// Calls every mode, syncs, and cuts the power.
// Contract: what was synced is there, whole, after the filesystem has recovered, and what was synced before is not damaged.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "cases/fallocate/shared/mode.h"
#include "cases/fallocate/shared/scene.h"
#include "fixtures/base/failure.h"
#include "fixtures/io/warm_up.h"

namespace holdfast::cases {

using namespace holdfast::fallocate;

namespace {

/// How what was called is made to last.
enum class Promise { fsync, fdatasync, synchronous };

std::string_view name_of(Promise promise) {
    switch (promise) {
        case Promise::fsync:
            return "fsync";
        case Promise::fdatasync:
            return "fdatasync";
        case Promise::synchronous:
            return "O_SYNC";
    }
    return "unknown";
}

/// A call, and the state that it promises from the moment when it was synced.
struct Step {
    std::string what;
    std::string mode;
    std::string file;
    FileModel after;
    /// What the call answered.
    int error = 0;
    /// The length of the disk's log then.
    std::uint64_t promised_at = 0;
};

Step call(const Mode& mode, Promise promise, const std::filesystem::path& path, std::uint32_t number,
          const AllocationUnits& units) {
    Stage stage = set_up({mode.name, "DDDDHHUUDDDD", {2, 0}, {5, 0}}, path, number, units);
    // The name has to last too.
    stage.file.sync_filesystem();
    // What becomes zeros inside a block is data in the page cache, of which a synchronous fallocate promises nothing.
    const bool whole_steps = mode.moves_data() || promise == Promise::synchronous;
    const std::uint64_t offset = stage.offset + (whole_steps ? 0 : 100);
    const std::uint64_t length = mode.extends() ? 14 * units.step : stage.length;
    Step step{.what = fmt::format("{} {}+{}, {}", mode.name, offset, length, name_of(promise)),
              .mode = std::string(mode.name),
              .file = path.filename(),
              .after = stage.model};
    const File file = File::open(path, O_RDWR | (promise == Promise::synchronous ? O_SYNC : 0));
    step.error = file.fallocate(mode.flags, offset, length);
    if (promise == Promise::fsync) file.sync();
    if (promise == Promise::fdatasync) file.datasync();
    if (step.error == 0) mode.apply(step.after, offset, length);
    return step;
}

/// What is wrong with the file of one call on a filesystem that has recovered.
std::optional<std::string> judge(const DisposableFilesystem& crashed, const Step& step, const AllocationUnits& units) {
    const File file = File::open(crashed.root() / step.file, O_RDWR);
    const auto difference = find_difference(step.after, file, units, Tree::left_from_before);
    if (!difference) return std::nullopt;
    return fmt::format("{}: {}: {}", step.what, difference->what, difference->detail);
}

struct Tally {
    std::vector<std::string> unmountable;
    std::vector<std::string> damaged;
    std::uint64_t states = 0;
};

/// What is lost when the power is cut at the moment when the last of `steps` had been promised: all that a flush had
/// covered by then is kept, nothing of the rest. The last disk of a series shows all files, and to fsck.
std::vector<std::string> cut(Experiment& experiment, const WriteLog& log, std::span<const Step> steps, bool last,
                             const AllocationUnits& units, Tally& tally) {
    const auto end = static_cast<std::ptrdiff_t>(steps.back().promised_at);
    const auto keep = durable({log.begin(), log.begin() + end});
    ++tally.states;
    std::vector<std::string> lost;
    try {
        DisposableFilesystem crashed{experiment.recipe(), experiment.held_disk()->crash_state(keep)};
        for (const Step& step : last ? steps : steps.last(1))
            if (auto wrong = judge(crashed, step, units)) lost.push_back(*std::move(wrong));
        if (!last) return lost;
        if (const auto report = crashed.finish(); report.damaged) tally.damaged.push_back(report.output);
    } catch (const Failure& failure) {
        tally.unmountable.push_back(fmt::format("after {}: {}", steps.back().what, failure.what()));
    }
    return lost;
}

/// Calls modes on files of their own, then looks at what would be left had the power been cut after each.
void observe(Experiment& experiment, std::string name, std::vector<Step> steps, const AllocationUnits& units,
             Tally& tally) {
    const WriteLog log = experiment.held_disk()->served().log();
    std::vector<std::string> lost;
    std::string modes;
    for (const Step& step : steps)
        if (step.error != 0) lost.push_back(fmt::format("{}: {}", step.what, error_name(step.error)));
    for (std::size_t called = 1; called <= steps.size(); ++called) {
        const auto found = cut(experiment, log, std::span(steps).first(called), called == steps.size(), units, tally);
        if (found.empty()) continue;
        lost.insert(lost.end(), found.begin(), found.end());
        modes += (modes.empty() ? "" : ", ") + steps[called - 1].mode;
    }
    experiment.observe(std::move(name),
                       lost.empty()    ? "there"
                       : modes.empty() ? "refused"
                                       : "lost: " + modes,
                       {{"states", steps.size()}, {"lost", lost}});
}

void run(Experiment& experiment) {
    const AllocationUnits units = allocation_units(experiment.filesystem());
    const auto modes = supported_modes(experiment.filesystem().root(), units.step);
    warm_up(experiment.filesystem().root());
    std::uint32_t number = 0;
    Tally tally;
    const auto steps = [&](Promise promise) {
        std::vector<Step> called;
        for (const Mode& mode : modes) {
            // What fdatasync has to bring along, the size and where the data has moved, it brings along for fsync as well.
            if (promise == Promise::fsync && (mode.extends() || mode.moves_data())) continue;
            // Below the end of file, with or without KEEP_SIZE is the same.
            if (promise == Promise::synchronous && (mode.flags & ~FALLOC_FL_KEEP_SIZE) == FALLOC_FL_ZERO_RANGE &&
                !mode.extends())
                continue;
            const auto path = experiment.filesystem().root() / fmt::format("file-{}", ++number);
            called.push_back(call(mode, promise, path, number, units));
            called.back().promised_at = experiment.held_disk()->served().log_length();
        }
        return called;
    };
    observe(experiment, "after fsync", steps(Promise::fsync), units, tally);
    observe(experiment, "after fdatasync", steps(Promise::fdatasync), units, tally);
    observe(experiment, "after O_SYNC", steps(Promise::synchronous), units, tally);
    const auto count = [&](const char* name, const std::vector<std::string>& states) {
        experiment.observe({.name = name,
                            .value = states.size(),
                            .unit = "states",
                            .evidence = {{"states", tally.states}, {"first", states.empty() ? "" : states.front()}}});
    };
    count("unmountable", tally.unmountable);
    count("damaged", tally.damaged);
}

}  // namespace

extern const Case fallocate_survives_power_cut;
const Case fallocate_survives_power_cut{
    .name = "fallocate.survives_power_cut",
    .summary = "calls every mode, syncs and cuts the power, and looks for what was promised",
    .method =
        "On a held disk, each mode works on a file of its own, followed by fsync, followed by fdatasync, and through "
        "an O_SYNC descriptor. For the moment after each of them, a disk is made with just what flushes had covered "
        "by then; it is mounted, so that the filesystem recovers, and all files called by then are compared with a "
        "model: size, content, extents and block count.",
    .needs = {},
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
