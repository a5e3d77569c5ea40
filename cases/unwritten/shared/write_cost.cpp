#include "cases/unwritten/shared/write_cost.h"

#include <algorithm>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>

#include "fixtures/base/failure.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/file.h"
#include "fixtures/io/warm_up.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::unwritten {

namespace {

constexpr int times = 5;

/// A new file as the work wants it, with nothing left to write back: XFS still changes a file when it is closed.
void prepare(const Work& work, const std::filesystem::path& path, std::uint64_t length) {
    {
        const File file = File::create(path);
        if (work.before == Before::written) {
            std::vector<std::byte> data(length);
            fill_data(data, {.file = 1, .generation = 1}, 0);
            file.write_at(0, data);
        } else if (work.before == Before::preallocated) {
            const int error = file.fallocate(0, 0, length);
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

/// Every work on files of its own; each counter counts on from one to the next.
void observe_work(Experiment& experiment, const Work& work, std::span<const EventCounter> counters,
                  std::uint64_t block) {
    std::vector<nlohmann::json> samples(counters.size(), nlohmann::json::array());
    AlignedBuffer buffer(block);
    for (int time = 0; time < times; ++time) {
        const auto path = experiment.filesystem().root() / fmt::format("{} {}", work.name, time);
        prepare(work, path, cost_writes * block);
        const File file = File::open(path, O_RDWR | (work.engine == Engine::direct ? O_DIRECT : 0));
        std::vector<std::uint64_t> before;
        for (const EventCounter& counter : counters) before.push_back(counter.count());
        carry_out(work, file, buffer);
        for (std::size_t i = 0; i < counters.size(); ++i) samples[i].push_back(counters[i].count() - before[i]);
    }
    for (std::size_t i = 0; i < counters.size(); ++i) {
        const auto name = event_name(counters[i].event());
        experiment.observe(
            {.name = fmt::format("{}: {}", work.name, name),
             .value = *std::min_element(samples[i].begin(), samples[i].end()),
             .unit = std::string(name),
             .samples = samples[i],
             .evidence = {{"source", counters[i].source()}, {"writes", cost_writes}, {"bytes per write", block}}});
    }
}

}  // namespace

void observe_costs(Experiment& experiment, std::span<const KernelEvent> events) {
    DisposableFilesystem& filesystem = experiment.filesystem();
    const FilesystemType type = experiment.recipe().type;
    const std::uint64_t block = std::max<std::uint64_t>(4096, allocation_units(filesystem).block);
    warm_up(filesystem.root());
    const int error = File::create(filesystem.root() / "preallocation").fallocate(0, 0, block);
    experiment.observe("preallocation", error == 0 ? "works" : error_name(error));
    std::vector<EventCounter> counters;
    for (const KernelEvent event : events) {
        if (!tracepoints_for(event, type).empty())
            counters.emplace_back(event, type, filesystem.disk().device_number());
    }
    for (const Work& work : works) {
        if (work.before == Before::preallocated && error != 0) continue;
        observe_work(experiment, work, counters, block);
    }
}

}  // namespace holdfast::unwritten
