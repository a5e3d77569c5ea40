// Direct asynchronous writes at end of file, into holes, into unwritten extents and onto data, while readers look.
// Contract: no reader ever sees anything but zeros or data written there, and what was acknowledged is there.
#include <algorithm>
#include <deque>
#include <random>

#include <fcntl.h>
#include <fmt/format.h>

#include "cases/case.h"
#include "cases/stale_data/shared/racing_writer.h"
#include "fixtures/base/failure.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/ageing.h"
#include "fixtures/io/warm_up.h"
#include "fixtures/probe/features.h"

namespace holdfast::cases {
namespace {

using Random = std::mt19937_64;

constexpr std::uint64_t block = 4096;

// Writes one behind the other from the begin of the file on, in lengths that are multiples of `unit`.
std::vector<Batch> appends(Random& random, std::size_t count, std::size_t writes, std::uint64_t unit) {
    std::vector<Batch> batches(count);
    std::uint64_t end = 0;
    for (auto& batch : batches)
        for (std::size_t i = 0; i < writes; ++i) {
            const auto length = unit * (1 + random() % (random() % 8 == 0 ? 32 : 4));
            batch.writes.push_back({end, end + length});
            end += length;
        }
    return batches;
}

// The same writes in an order of chance: they fill what the file has below its end.
std::vector<Batch> shuffled(Random& random, std::vector<Batch> batches) {
    std::vector<Range> writes;
    for (const auto& batch : batches) writes.insert(writes.end(), batch.writes.begin(), batch.writes.end());
    std::shuffle(writes.begin(), writes.end(), random);
    auto next = writes.begin();
    for (auto& batch : batches)
        for (auto& write : batch.writes) write = *next++;
    return batches;
}

// Three of them are held, where the machine can: readers are then inside the window whatever the timing.
std::vector<Batch> some_held(std::vector<Batch> batches) {
    if (find_missing_feature("write_hold")) return batches;
    for (std::size_t i = 1; i <= 3; ++i) batches[i * batches.size() / 4].held = true;
    return batches;
}

std::uint64_t end_of(const std::vector<Batch>& batches) {
    std::uint64_t end = 0;
    for (const auto& batch : batches)
        for (const auto& write : batch.writes) end = std::max(end, write.end);
    return end;
}

class Races {
 public:
    explicit Races(Experiment& experiment) : filesystem_(experiment.filesystem()), random_(experiment.seed()) {}

    // What a file is before the race begins.
    enum class Start { empty, sparse, unwritten, preallocated };

    // Makes a file and races on it; then once more over the data, if so wanted.
    void race(Start start, const std::vector<Batch>& batches, bool overwrite = false) {
        auto& content = contents_.emplace_back(static_cast<std::uint32_t>(contents_.size() + 1));
        if (!prepare(content, start, end_of(batches))) {
            std::filesystem::remove(path(content));
            contents_.pop_back();
            return;
        }
        run(content, 1, batches);
        if (overwrite) run(content, 2, shuffled(random_, batches));
    }

    void race_all(std::uint64_t unit) {
        race(Start::empty, some_held(appends(random_, 120, 1, unit)), true);
        race(Start::empty, some_held(appends(random_, 60, 4, unit)));
        race(Start::preallocated, some_held(appends(random_, 60, 2, unit)));
        race(Start::sparse, some_held(shuffled(random_, appends(random_, 60, 4, unit))), true);
        race(Start::unwritten, some_held(shuffled(random_, appends(random_, 60, 4, unit))), true);
    }

    [[nodiscard]] Random& random() { return random_; }

    // Once more with nothing in the page cache.
    RaceResult finish() {
        filesystem_.remount();
        for (const auto& content : contents_) judge_whole_file(path(content), content, result_.findings);
        return result_;
    }

 private:
    std::filesystem::path path(const FileContent& content) const {
        return filesystem_.root() / fmt::format("file-{}", content.file());
    }

    // False where the filesystem has no such files.
    bool prepare(FileContent& content, Start start, std::uint64_t size) {
        const auto file = File::create(path(content));
        if (start == Start::sparse) file.truncate(size);
        if (start == Start::unwritten || start == Start::preallocated) {
            const int error = file.fallocate(start == Start::preallocated ? FALLOC_FL_KEEP_SIZE : 0, 0, size);
            if (error == EOPNOTSUPP) return false;
            if (error != 0) throw SystemFailure(fmt::format("fallocate of {}", file.path().string()), error);
        }
        content.resized(file.size());
        file.sync();
        return true;
    }

    void run(FileContent& content, std::uint32_t generation, std::vector<Batch> batches) {
        const Race race{content, path(content), generation, std::move(batches)};
        result_.merge(run_race(filesystem_.disk(), race, random_()));
        judge_whole_file(race.path, content, result_.findings);
    }

    DisposableFilesystem& filesystem_;
    Random random_;
    std::deque<FileContent> contents_;
    RaceResult result_;
};

void run(Experiment& experiment) {
    const auto root = experiment.filesystem().root();
    age(root, 24 * MiB, experiment.seed());
    warm_up(root);

    Races races{experiment};
    races.race_all(block);
    races.race_all(smallest_direct_write(root));

    const auto result = races.finish();
    observe_findings(experiment, result.findings,
                     {{"reads", result.reads}, {"reads_in_window", result.reads_in_window}});
}

}  // namespace

extern const Case stale_data_append_read_race;
const Case stale_data_append_read_race{
    .name = "stale_data.append_read_race",
    .summary = "looks for stale and for lost data while direct asynchronous writes race with readers",
    .method =
        "On a poisoned and aged disk, every sector says where it came from. One thread appends, fills holes, fills "
        "unwritten extents and overwrites, directly and asynchronously, one and several writes at a time, in blocks "
        "and in sectors; some of the writes are held by the disk, so that readers are inside the window whatever the "
        "timing. Direct, buffered and mapped readers look at what is being written, and judge it by two oracles: "
        "nothing but zeros or data written at that offset, and acknowledged data is there. At the end all is read "
        "again, after a remount too.",
    .needs = {{"feature", "aio"}},
    .disk = DiskNeed::poisoned,
    .time_bound = std::chrono::seconds{240},
    .run = run,
};

}  // namespace holdfast::cases
