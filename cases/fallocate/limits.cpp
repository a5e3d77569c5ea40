// Works at the borders of what a file can be: its largest size, RLIMIT_FSIZE, and offsets of more than 31 and 32 bits.
// Contract: all works up to the limit, nothing beyond it (EFBIG), and a large offset is like any other.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>
#include <unistd.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "cases/fallocate/shared/file_size_limit.h"
#include "cases/fallocate/shared/mode.h"
#include "cases/fallocate/shared/scene.h"
#include "fixtures/base/failure.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {

using namespace holdfast::fallocate;

namespace {

constexpr int punch_hole = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;

// --- The largest size -------------------------------------------------------------------------------------------------

/// What a call did, and where it left the end of file: "works, size as asked".
std::string call_at_limit(const File& file, int flags, std::uint64_t offset, std::uint64_t length, std::uint64_t size) {
    const int error = file.fallocate(flags, offset, length);
    const std::uint64_t found = file.size();
    std::string outcome = outcome_of(error);
    if (found != size) outcome += fmt::format(", but the size is {} in place of {}", found, size);
    return outcome;
}

void observe_largest_size(Experiment& experiment, const AllocationUnits& units) {
    const auto path = experiment.filesystem().root() / "largest";
    const File file = File::create(path);
    const std::uint64_t largest = largest_size(file);
    const std::uint64_t start = (largest - units.step) / units.step * units.step;
    const std::uint64_t rest = largest - start;
    const nlohmann::json evidence{{"largest size", largest}};
    const auto observe = [&](std::string name, int flags, std::uint64_t offset, std::uint64_t length,
                             std::uint64_t size) {
        experiment.observe("largest size: " + std::move(name), call_at_limit(file, flags, offset, length, size),
                           evidence);
    };
    observe("KEEP_SIZE one byte past it", FALLOC_FL_KEEP_SIZE, start, rest + 1, 0);
    observe("default one byte past it", 0, start, rest + 1, 0);
    observe("ZERO_RANGE one byte past it", FALLOC_FL_ZERO_RANGE, start, rest + 1, 0);
    observe("PUNCH_HOLE one byte past it", punch_hole, start, rest + 1, 0);
    observe("KEEP_SIZE up to it", FALLOC_FL_KEEP_SIZE, start, rest, 0);
    file.truncate(0);
    const bool allocates = file.fallocate(FALLOC_FL_KEEP_SIZE, 0, 1) == 0;
    file.truncate(0);
    observe("default up to it", 0, start, rest, allocates ? largest : 0);
    observe("PUNCH_HOLE up to it", punch_hole, start, rest, allocates ? largest : 0);
    file.truncate(4 * units.step);
    const std::uint64_t too_much = largest / units.step * units.step - 2 * units.step;
    observe("INSERT_RANGE that moves the end past it", FALLOC_FL_INSERT_RANGE, units.step, too_much, 4 * units.step);
    file.truncate(0);
    std::filesystem::remove(path);
}

// --- RLIMIT_FSIZE -----------------------------------------------------------------------------------------------------

/// A call on a file of four steps of data, with a limit of eight.
struct LimitedCall {
    std::string_view name;
    int flags;
    Place offset;
    Place length;
};

constexpr std::array limited_calls{
    LimitedCall{"default up to it", 0, {6, 0}, {2, 0}},
    LimitedCall{"default one byte past it", 0, {6, 0}, {2, 1}},
    LimitedCall{"default behind it", 0, {9, 0}, {1, 0}},
    LimitedCall{"KEEP_SIZE behind it", FALLOC_FL_KEEP_SIZE, {9, 0}, {1, 0}},
    LimitedCall{"ZERO_RANGE one byte past it", FALLOC_FL_ZERO_RANGE, {3, 0}, {5, 1}},
    LimitedCall{"ZERO_RANGE with KEEP_SIZE past it", FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, {3, 0}, {6, 0}},
    LimitedCall{"PUNCH_HOLE past it", punch_hole, {3, 0}, {6, 0}},
    LimitedCall{"INSERT_RANGE up to it", FALLOC_FL_INSERT_RANGE, {1, 0}, {4, 0}},
    LimitedCall{"INSERT_RANGE past it", FALLOC_FL_INSERT_RANGE, {1, 0}, {5, 0}},
};

void observe_size_limit(Experiment& experiment, const AllocationUnits& units) {
    std::uint32_t number = 1000;
    for (const LimitedCall& call : limited_calls) {
        const auto path = experiment.filesystem().root() / fmt::format("limited-{}", ++number);
        const Stage stage = set_up({call.name, "DDDD", call.offset, call.length}, path, number, units);
        const FileSizeLimit limit(8 * units.step);
        const int error = stage.file.fallocate(call.flags, stage.offset, stage.length);
        std::string outcome = outcome_of(error);
        if (limit.signals() > 0) outcome += " and SIGXFSZ";
        const auto difference = error == 0 ? std::nullopt : find_difference(stage.model, stage.file, units);
        if (difference) outcome += ", but " + difference->what;
        experiment.observe("RLIMIT_FSIZE: " + std::string(call.name), outcome, describe_file(stage.file));
    }
    // A file that is longer than the limit may be changed below its end.
    const auto path = experiment.filesystem().root() / "longer";
    const Stage stage = set_up({"longer", "DDDDHHDD", {4, 0}, {2, 0}}, path, number, units);
    const FileSizeLimit limit(units.step);
    experiment.observe("RLIMIT_FSIZE: default inside a longer file",
                       outcome_of(stage.file.fallocate(0, stage.offset, stage.length)));
}

// --- Large offsets ----------------------------------------------------------------------------------------------------

/// Data on both sides of `border`, from four steps before it on, and a mode at work across it.
struct Crossing {
    std::filesystem::path path;
    FileModel model;
    std::uint64_t base;
    std::optional<Difference> difference;
    std::string what;
};

constexpr std::string_view layout = "DDDDDHUD";

void lay_out(const File& file, Crossing& crossing, std::uint32_t number, std::uint64_t step) {
    file.truncate(crossing.base + layout.size() * step);
    crossing.model.grow(layout.size() * step);
    std::vector<std::byte> data(step);
    for (std::size_t i = 0; i < layout.size(); ++i) {
        const std::uint64_t at = i * step;
        if (layout[i] == 'D') {
            fill_data(data, {.file = number, .generation = 1}, crossing.base + at);
            file.write_at(crossing.base + at, data);
            crossing.model.write(at, data);
        } else if (layout[i] == 'U' && file.fallocate(FALLOC_FL_KEEP_SIZE, crossing.base + at, step) == 0) {
            crossing.model.allocate(at, step, true);
        }
    }
}

Crossing cross(const Mode& mode, std::uint64_t border, std::filesystem::path path, std::uint32_t number,
               const AllocationUnits& units) {
    const std::uint64_t base = border - 4 * units.step;
    Crossing crossing{std::move(path), FileModel(units.block, units.step), base, std::nullopt, {}};
    const File file = File::create(crossing.path);
    lay_out(file, crossing, number, units.step);
    const std::uint64_t offset = 2 * units.step + (mode.moves_data() ? 0 : 100);
    const std::uint64_t length = mode.moves_data() ? 3 * units.step : 4 * units.step;
    crossing.what = fmt::format("{} {}+{} across {}", mode.name, base + offset, length, border);
    if (const int error = file.fallocate(mode.flags, base + offset, length); error != 0) {
        crossing.difference = Difference{"refused", error_name(error)};
        return crossing;
    }
    mode.apply(crossing.model, offset, length);
    crossing.model.let_unwritten_be_zeroed();
    crossing.difference = find_difference(crossing.model, file, units, Tree::left_from_before, base);
    return crossing;
}

void observe_large_offsets(Experiment& experiment, const AllocationUnits& units) {
    DisposableFilesystem& filesystem = experiment.filesystem();
    const auto path = filesystem.root() / "probe";
    const std::uint64_t largest = largest_size(File::create(path));
    std::filesystem::remove(path);
    // In bytes, and in blocks of the filesystem and of the disk.
    std::vector<std::uint64_t> borders;
    for (const unsigned bits : {31U, 32U, 40U, 41U, 43U, 44U, 48U}) {
        const std::uint64_t border = std::uint64_t{1} << bits;
        if (border + 16 * units.step < largest) borders.push_back(border);
    }
    std::uint32_t number = 0;
    std::string outcome = "right";
    nlohmann::json evidence{{"borders", borders}};
    for (const Mode& mode : supported_modes(filesystem.root(), units.step)) {
        std::vector<Crossing> crossings;
        for (const std::uint64_t border : borders) {
            const auto file = filesystem.root() / fmt::format("file-{}", ++number);
            crossings.push_back(cross(mode, border, file, number, units));
        }
        filesystem.remount();
        for (Crossing& crossing : crossings) {
            std::string_view when = "at once";
            if (!crossing.difference) {
                const File file = File::open(crossing.path, O_RDWR);
                crossing.difference =
                    find_difference(crossing.model, file, units, Tree::left_from_before, crossing.base);
                when = "after a remount";
            }
            if (crossing.difference && outcome == "right") {
                outcome = fmt::format("{} {} ({})", crossing.difference->what, when, mode.name);
                evidence["call"] = crossing.what;
                evidence["detail"] = crossing.difference->detail;
            }
            std::filesystem::remove(crossing.path);
        }
    }
    experiment.observe("across large offsets", outcome, evidence);
}

void run(Experiment& experiment) {
    const AllocationUnits units = allocation_units(experiment.filesystem());
    observe_largest_size(experiment, units);
    observe_size_limit(experiment, units);
    observe_large_offsets(experiment, units);
}

}  // namespace

extern const Case fallocate_limits;
const Case fallocate_limits{
    .name = "fallocate.limits",
    .summary = "works at the largest size of a file, at RLIMIT_FSIZE, and across offsets of 31 and more bits",
    .method =
        "ftruncate finds the largest size; each mode is then called up to it and one byte further. Under RLIMIT_FSIZE "
        "the same, with SIGXFSZ counted; what refuses must change nothing. Then each mode works in a sparse file "
        "across 2^31, 2^32, 2^40 to 2^48 bytes, as far as the filesystem goes, and size, content, extents and block "
        "count are compared with a model at once and after a remount.",
    .needs = {},
    .run = run,
};

}  // namespace holdfast::cases
