#include "cases/unwritten/shared/write_cost.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>

#include "fixtures/base/failure.h"
#include "fixtures/base/one_cpu.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/file.h"
#include "fixtures/io/warm_up.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::unwritten {

namespace {

constexpr int times = 5;

bool needs_preallocation(const Work& work) {
    return work.before == Before::preallocated || work.before == Before::keep_size;
}

/// The number that is there most often, and the smallest of those.
std::uint64_t commonest(std::vector<std::uint64_t> numbers) {
    std::ranges::sort(numbers);
    return *std::ranges::max_element(numbers, {}, [&](auto number) { return std::ranges::count(numbers, number); });
}

int flags_of(const Work& work) {
    return O_RDWR | (work.engine == Engine::direct ? O_DIRECT : 0) | (work.sync == Sync::dsync ? O_DSYNC : 0);
}

/// A new file as the work wants it, with nothing left to write back: XFS still changes a file when it is closed.
void prepare(const Work& work, const std::filesystem::path& path, std::uint64_t length) {
    {
        const File file = File::create(path);
        if (work.before == Before::written) {
            std::vector<std::byte> data(length);
            fill_data(data, {.file = 1, .generation = 1}, 0);
            file.write_at(0, data);
        } else if (work.before == Before::hole) {
            file.truncate(length);
        } else if (needs_preallocation(work)) {
            const int error = file.fallocate(work.before == Before::keep_size ? FALLOC_FL_KEEP_SIZE : 0, 0, length);
            if (error != 0) throw SystemFailure("preallocating " + path.string(), error);
        }
        file.sync();
    }
    File::open(path, O_RDONLY).sync_filesystem();
}

void carry_out(const Work& work, const File& file, AlignedBuffer& buffer) {
    for (std::uint64_t i = 0; i < cost_writes; ++i) {
        fill_data(buffer.bytes(), {.file = 1, .generation = 2}, i * buffer.size());
        file.write_at(i * buffer.size(), buffer.bytes());
        if (work.sync == Sync::each) file.datasync();
    }
    if (work.sync == Sync::at_end) file.datasync();
}

/// What each counter counted, in each of the times.
using Samples = std::vector<std::vector<std::uint64_t>>;

/// Every time on a file of its own; each counter counts on from one to the next.
Samples measure(const std::filesystem::path& root, const Work& work, std::span<const EventCounter> counters,
                std::uint64_t block) {
    Samples samples(counters.size());
    AlignedBuffer buffer(block);
    for (int time = 0; time < times; ++time) {
        const auto path = root / fmt::format("{} {}", work.name, time);
        prepare(work, path, cost_writes * block);
        const File file = File::open(path, flags_of(work));
        std::vector<std::uint64_t> before;
        for (const EventCounter& counter : counters) before.push_back(counter.count());
        carry_out(work, file, buffer);
        for (std::size_t i = 0; i < counters.size(); ++i) samples[i].push_back(counters[i].count() - before[i]);
    }
    return samples;
}

void observe_event(Experiment& experiment, const Work& work, const EventCounter& counter,
                   const std::vector<std::uint64_t>& samples, std::uint64_t block) {
    const auto name = event_name(counter.event());
    experiment.observe(
        {.name = fmt::format("{}: {}", work.name, name),
         .value = commonest(samples),
         .unit = std::string(name),
         .samples = samples,
         .evidence = {{"source", counter.source()}, {"writes", cost_writes}, {"bytes per write", block}}});
}

/// All counts of a work in a line: "0 conversions, 32 commits, 64 flushes".
std::string row_of(std::span<const EventCounter> counters, const Samples& samples) {
    std::vector<std::string> words;
    for (std::size_t i = 0; i < counters.size(); ++i)
        words.push_back(fmt::format("{} {}", commonest(samples[i]), event_name(counters[i].event())));
    return fmt::format("{}", fmt::join(words, ", "));
}

/// What each count was in each of the times.
nlohmann::json each_time(std::span<const EventCounter> counters, const Samples& samples) {
    auto times_of = nlohmann::json::object();
    for (std::size_t i = 0; i < counters.size(); ++i) times_of[event_name(counters[i].event())] = samples[i];
    return {{"each time", std::move(times_of)}};
}

/// Calls `observe` with each work that the filesystem can do and what it cost. Reports "preallocation" before.
void for_each_work(
    Experiment& experiment, std::span<const Work> works, std::span<const KernelEvent> events,
    const std::function<void(const Work&, std::span<const EventCounter>, const Samples&, std::uint64_t)>& observe) {
    DisposableFilesystem& filesystem = experiment.filesystem();
    const FilesystemType type = experiment.recipe().type;
    const std::uint64_t block = std::max<std::uint64_t>(4096, allocation_units(filesystem).block);
    // ext4 allocates for small files from a preallocation of each CPU (fs/ext4/mballoc.c, ext4_mb_group_or_file): moved to
    // another CPU halfway, a file comes to lie in more extents, and its journal gets a block or two more.
    const OnOneCpu kept;
    warm_up(filesystem.root());
    const int error = File::create(filesystem.root() / "preallocation").fallocate(0, 0, block);
    experiment.observe("preallocation", error == 0 ? "works" : error_name(error));
    std::vector<EventCounter> counters;
    for (const KernelEvent event : events)
        if (has_event(event, type)) counters.emplace_back(event, type, filesystem.disk().device_number());
    for (const Work& work : works) {
        if (needs_preallocation(work) && error != 0) continue;
        observe(work, counters, measure(filesystem.root(), work, counters, block), block);
    }
}

}  // namespace

void observe_costs(Experiment& experiment, std::span<const Work> works, std::span<const KernelEvent> events) {
    for_each_work(
        experiment, works, events,
        [&](const Work& work, std::span<const EventCounter> counters, const Samples& samples, std::uint64_t block) {
            for (std::size_t i = 0; i < counters.size(); ++i)
                observe_event(experiment, work, counters[i], samples[i], block);
        });
}

void observe_cost_rows(Experiment& experiment, std::span<const Work> works, std::span<const KernelEvent> events,
                       std::span<const KernelEvent> alone) {
    for_each_work(
        experiment, works, events,
        [&](const Work& work, std::span<const EventCounter> counters, const Samples& samples, std::uint64_t block) {
            experiment.observe(std::string(work.name), row_of(counters, samples), each_time(counters, samples));
            for (std::size_t i = 0; i < counters.size(); ++i)
                if (std::ranges::find(alone, counters[i].event()) != alone.end())
                    observe_event(experiment, work, counters[i], samples[i], block);
        });
}

}  // namespace holdfast::unwritten
