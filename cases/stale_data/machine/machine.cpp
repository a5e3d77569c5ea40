#include "cases/stale_data/machine/machine.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <list>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include "cases/fallocate/shared/mode.h"
#include "cases/stale_data/shared/crash.h"
#include "fixtures/base/failure.h"
#include "fixtures/disk/held/held_disk.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/clone.h"
#include "fixtures/io/reader.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::machine {
namespace {

using WrittenFile = CrashTest::WrittenFile;

bool can_clone(const std::filesystem::path& root) {
    const auto source = File::create(root / "cloned");
    const auto target = File::create(root / "clone");
    return clone_all(source, target) == 0;
}

// Without barriers nothing is ever flushed, and without a journal fsck has to mend what a power cut leaves.
bool promises_anything(const Recipe& recipe) {
    const bool has_journal = std::ranges::none_of(
        recipe.mkfs, [](const std::string& argument) { return argument.find("^has_journal") != std::string::npos; });
    return has_journal && !recipe.has_mount_option("barrier=0") && !recipe.has_mount_option("nobarrier");
}

// Where it goes through the page cache, the one who writes may be told by the next sync alone, and readers of the cache see
// what others do not (fs/btrfs/direct-io.c, btrfs_direct_write, of parts of blocks and of what has checksums; blocks that
// were mapped by indirect ones; data in the journal).
bool fails_cleanly(const std::filesystem::path& path, ServedDisk& disk, std::uint64_t unit) {
    std::vector<std::byte> data(unit);
    fill_data(data, {1, 1}, 0);
    const auto rule = disk.add_rule({.filter = RequestFilter::data_writes(), .action = RuleAction::fail, .error = EIO});
    const auto outcome = write_by(WriteWay::direct_aio, path, 4 * unit, data);
    disk.remove_rule(rule);
    (void)Reader{path, Reading::buffered}.read(4 * unit, data);
    return outcome.wrong.has_value() && is_zeros(data);
}

// The smallest unit of direct writes that fail cleanly; 0 where there is none.
std::uint64_t smallest_failing_write(const std::filesystem::path& root, ServedDisk& disk, const Abilities& abilities) {
    const std::array units{abilities.direct_unit, abilities.block};
    const auto path = [&](std::uint64_t unit) { return root / fmt::format("failing-{}", unit); };
    for (const auto unit : std::set(units.begin(), units.end())) {
        const auto file = File::create(path(unit));
        file.truncate(8 * unit);
        file.sync_filesystem();
    }
    for (const auto unit : units)
        if (fails_cleanly(path(unit), disk, unit)) return unit;
    return 0;
}

class Sequence {
 public:
    Sequence(Experiment& experiment, const Abilities& abilities)
        : abilities_(abilities), test_(experiment), disk_(experiment.held_disk()->served()) {
        for (unsigned i = 0; i < files; ++i) files_.push_back(&test_.create());
    }

    void take(const Step& step) {
        if (const auto changed = changed_by(step)) before_change(*changed);
        auto& file = *files_.at(step.file);
        switch (step.action) {
            case Action::write:
                return write(file, step);
            case Action::store:
                if (step.range().end <= file.size()) file.store(step.range());
                return;
            case Action::fallocate:
                return allocate(file, step);
            case Action::truncate:
                return file.truncate(step.offset);
            case Action::copy:
            case Action::clone_range:
            case Action::clone:
                return copy(file, *files_.at(step.other), step);
            case Action::sync:
                return sync(file, step.syncing);
            case Action::drop_cache:
                return file.drop_cache();
            case Action::look:
                return file.judge_now(step.reading, outcome_.findings);
            case Action::failing_write:
                if (abilities_.failing_unit != 0 && is_of_whole(step, abilities_.failing_unit)) fail(file, step);
                return;
            case Action::power_cut:
                return cut_power(step);
            case Action::together:
                return together(step);
        }
    }

    void look_at_all() {
        for (auto* file : files_)
            for (const auto reading : {Reading::buffered, Reading::mapped, Reading::direct})
                file->judge_now(reading, outcome_.findings);
    }

    void note_wrong(std::string answer) { outcome_.wrong.push_back(std::move(answer)); }

    [[nodiscard]] bool good() const {
        return outcome_.good() && test_.findings().none() && test_.unmountable().empty() && test_.damaged().empty();
    }

    [[nodiscard]] Outcome outcome() const {
        auto result = outcome_;
        result.findings.merge(test_.findings());
        result.unmountable = test_.unmountable();
        result.damaged = test_.damaged();
        result.states = test_.states();
        return result;
    }

 private:
    static std::optional<unsigned> changed_by(const Step& step) {
        switch (step.action) {
            case Action::sync:
            case Action::drop_cache:
            case Action::look:
            case Action::power_cut:
                return std::nullopt;
            case Action::together:
                return step.inside.empty() ? std::nullopt : std::optional{step.inside.front().file};
            default:
                return step.file;
        }
    }

    // XFS writes in place to blocks that another file shared and has given up, before that is safe: after a power cut it
    // has them again, with what was written (stale_data.crash_unshared). So what one of the files that share has given up
    // is made safe before another one of them changes.
    void before_change(unsigned file) {
        if (!sharing_.contains(file)) return;
        if (std::ranges::any_of(changed_, [file](unsigned other) { return other != file; })) {
            test_.sync_filesystem();
            changed_.clear();
        }
        changed_.insert(file);
    }

    [[nodiscard]] static bool is_of_whole(const Step& step, std::uint64_t unit) {
        return step.offset % unit == 0 && step.length % unit == 0;
    }
    [[nodiscard]] bool is_aligned(const Step& step) const {
        return is_of_whole(step, is_direct(step.way) ? abilities_.direct_unit : sector_size);
    }

    void write(WrittenFile& file, const Step& step) {
        if (only_appends(step.way) || !is_aligned(step)) return;
        if (const auto wrong = file.write_by(step.way, step.range())) note_wrong(*wrong);
    }

    void allocate(WrittenFile& file, const Step& step) const {
        const auto modes = fallocate::all_modes();
        const auto& mode = *std::ranges::find(modes, step.mode, &fallocate::Mode::flags);
        const auto range = step.range();
        if (mode.moves_data()) {
            if (range.begin % abilities_.step != 0 || range.end % abilities_.step != 0) return;
            const bool collapses = (mode.flags & FALLOC_FL_COLLAPSE_RANGE) != 0;
            if (collapses ? range.end >= file.size()
                          : range.begin >= file.size() || file.size() + range.length() > furthest)
                return;
            (void)(collapses ? file.collapse(range) : file.insert(range));
        } else if (mode.zeroes()) {
            (void)file.zero(mode.flags, range);
        } else {
            (void)file.allocate(mode.flags, range);
        }
    }

    void copy(WrittenFile& file, const WrittenFile& source, const Step& step) {
        if (&file == &source) return;
        sharing_.insert({step.file, step.other});
        changed_.insert(step.file);
        if (step.action == Action::clone) {
            // It makes no file shorter (ioctl_ficlone(2)).
            if (source.size() >= file.size()) (void)file.clone(source);
            return;
        }
        if (step.from + step.length > source.size()) return;
        const bool whole_blocks = (step.from | step.offset | step.length) % abilities_.block == 0;
        if (step.action == Action::copy)
            (void)file.copy(source, step.from, step.range());
        else if (whole_blocks)
            (void)file.clone_range(source, step.from, step.range());
    }

    static void sync(WrittenFile& file, Syncing by) {
        switch (by) {
            case Syncing::fsync:
                return file.fsync();
            case Syncing::fdatasync:
                return file.fdatasync();
            case Syncing::syncfs:
                return file.syncfs();
            case Syncing::aio_fdsync:
                return file.aio_fdsync();
        }
    }

    // Nothing else is to be written meanwhile, which might fail as well, and be told by a later sync alone: nor the zeros of a
    // gap between the end of file and what is written (fs/xfs/xfs_file.c, xfs_file_write_zero_eof).
    void fail(WrittenFile& file, const Step& step) {
        if (step.offset > file.size()) return;
        test_.sync_filesystem();
        const auto since = file.calls_so_far();
        const auto rule = disk_.add_rule(
            {.filter = RequestFilter::data_writes(), .action = RuleAction::fail, .error = EIO, .after = step.after});
        bool failed = false;
        try {
            failed = file.write_by(step.way, step.range()).has_value();
        } catch (const SystemFailure& failure) {
            failed = true;
            if (failure.error() != EIO) note_wrong(failure.what());
        }
        disk_.remove_rule(rule);
        if (failed)
            file.settle(since, false, outcome_.findings);
        else
            file.judge_now(Reading::direct, outcome_.findings);
    }

    void cut_power(const Step& step) {
        const auto log = disk_.log();
        const auto length = static_cast<std::uint64_t>(log.size());
        std::mt19937_64 random{step.seed};
        test_.cut_power_at(log, std::max(test_.begin(), length - std::min(length, step.back)), step.kept, random);
    }

    // What a step that is announced is to do, in a thread of its own.
    [[nodiscard]] std::function<void()> announce(WrittenFile& file, const Step& step) const {
        const auto modes = fallocate::all_modes();
        const auto mode = std::ranges::find(modes, step.mode, &fallocate::Mode::flags);
        switch (step.action) {
            case Action::write:
                return [&file, step, data = std::make_shared<AlignedBuffer>(file.begin_write(step.range()))] {
                    if (const auto outcome = write_by(step.way, file.path(), step.offset, data->bytes()); outcome.wrong)
                        throw Failure(*outcome.wrong);
                };
            case Action::truncate:
                file.begin_resize(step.offset);
                return [&file, step] { File::open(file.path(), O_RDWR).truncate(step.offset); };
            case Action::fallocate:
                if (mode->zeroes()) file.begin_zero(step.range());
                if (mode->extends()) file.begin_resize(std::max(size_together_, step.range().end));
                return [&file, step] {
                    const int error = File::open(file.path(), O_RDWR).fallocate(step.mode, step.offset, step.length);
                    if (error != 0 && error != EOPNOTSUPP) throw SystemFailure(describe(step), error);
                };
            default:
                return [&file, step] {
                    const auto opened = File::open(file.path(), O_RDWR);
                    if (step.syncing == Syncing::fsync) opened.sync();
                    if (step.syncing == Syncing::fdatasync) opened.datasync();
                    if (step.syncing == Syncing::syncfs) opened.sync_filesystem();
                };
        }
    }

    void together(const Step& step) {
        if (step.inside.empty() || std::ranges::any_of(step.inside, [&](const Step& inner) {
                return inner.action == Action::write && !is_aligned(inner);
            }))
            return;
        auto& file = *files_.at(step.inside.front().file);
        const auto since = file.calls_so_far();
        size_together_ = file.size();
        std::vector<std::function<void()>> calls;
        bool synced = false;
        for (const auto& inner : step.inside) {
            calls.push_back(announce(file, inner));
            synced |= inner.action == Action::sync;
            if (inner.action != Action::sync) size_together_ = std::max(size_together_, inner.range().end);
        }
        const auto rule = disk_.add_rule({.filter = RequestFilter::data_writes(), .action = RuleAction::hold});
        std::atomic<std::size_t> ended{0};
        {
            std::list<std::jthread> threads;
            for (const auto& call : calls)
                threads.emplace_back([&] {
                    try {
                        call();
                    } catch (const Failure& failure) {
                        const std::lock_guard lock{mutex_};
                        note_wrong(failure.what());
                    }
                    ++ended;
                });
            release(step, calls.size(), ended);
        }
        disk_.remove_rule(rule);
        disk_.let_go_all();
        file.settle(since, synced, outcome_.findings);
    }

    // Lets what the disk holds go one by one until all calls have ended. Only what meets depends on the time it takes for
    // the first to be held.
    void release(const Step& step, std::size_t count, const std::atomic<std::size_t>& ended) {
        std::mt19937_64 random{step.seed};
        (void)disk_.wait_until_held(count, std::chrono::milliseconds{5});
        while (ended < count) {
            const auto held = disk_.held();
            if (held.empty()) {
                std::this_thread::sleep_for(std::chrono::milliseconds{1});
                continue;
            }
            const auto index = step.release == Release::as_submitted ? 0
                               : step.release == Release::reversed   ? held.size() - 1
                                                                     : random() % held.size();
            disk_.let_go(std::array{held[index].ticket});
        }
    }

    const Abilities& abilities_;
    CrashTest test_;
    ServedDisk& disk_;
    std::vector<WrittenFile*> files_;
    /// Files that share blocks with another one, as far as is known; and those that have changed since all was synced.
    std::set<unsigned> sharing_;
    std::set<unsigned> changed_;
    Outcome outcome_;
    std::uint64_t size_together_ = 0;
    std::mutex mutex_;
};

}  // namespace

Machine::Machine(Experiment& experiment, Plant plant)
    : experiment_(experiment), plant_(std::move(plant)), size_(experiment.held_disk()->size()) {
    auto& filesystem = experiment.filesystem();
    const auto& root = filesystem.root();
    auto& disk = experiment.held_disk()->served();
    const auto units = allocation_units(filesystem);
    abilities_ = {.direct_unit = smallest_direct_write(root), .block = units.block, .step = units.step, .modes = {}};
    for (const auto& mode : fallocate::supported_modes(root, units.step))
        (mode.moves_data() ? abilities_.moving_modes : abilities_.modes).push_back(mode.flags);
    // There is always a mode to choose from; where it is not supported, nothing happens.
    if (abilities_.modes.empty()) abilities_.modes.push_back(0);
    abilities_.survives_power_cuts = promises_anything(experiment.recipe());
    abilities_.clones = can_clone(root);
    abilities_.failing_unit = smallest_failing_write(root, disk, abilities_);
    filesystem.unmount();
    snapshot_ = Descriptor{checked(::memfd_create("filesystem", MFD_CLOEXEC), "memfd_create")};
    disk.save(snapshot_.get());
    server_ = DiskServer::start();
}

Outcome Machine::carry_out(const Steps& steps) {
    DisposableFilesystem filesystem{experiment_.recipe(),
                                    std::make_unique<HeldDisk>(server_, size_, LogDepth::content, snapshot_.get())};
    Experiment own{filesystem, {.seed = experiment_.seed()}, [](const Observation&) {}};
    Outcome outcome;
    {
        Sequence sequence{own, abilities_};
        if (plant_) plant_(own.held_disk()->served());
        std::size_t number = 0;
        try {
            for (const auto& step : steps) {
                ++number;
                sequence.take(step);
                if (!sequence.good()) break;
            }
            if (sequence.good()) sequence.look_at_all();
        } catch (const SystemFailure& failure) {
            sequence.note_wrong(fmt::format("step {}: {}", number, failure.what()));
        }
        outcome = sequence.outcome();
        outcome.steps = number;
    }
    if (const auto report = filesystem.finish(); report.damaged)
        outcome.damaged.push_back(fmt::format("after all steps: {}: {}", report.command, report.output));
    return outcome;
}

}  // namespace holdfast::machine
