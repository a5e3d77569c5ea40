// Many writers and many readers, as fast as the machine allows, for as long as one likes.
// Contract: no reader ever sees anything but zeros or data written there, and what was acknowledged is there.
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include <fmt/format.h>

#include "cases/case.h"
#include "cases/stale_data/shared/judged_read.h"
#include "cases/stale_data/shared/stressed_file.h"
#include "fixtures/base/failure.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/ageing.h"

namespace holdfast::cases {
namespace {

using Clock = std::chrono::steady_clock;
using SharedFile = std::shared_ptr<StressedFile>;

constexpr std::size_t writers = 4;
constexpr std::array readings{Reading::buffered, Reading::direct, Reading::buffered, Reading::mapped, Reading::spliced};
// Then a file is given up for a new one, which gets its blocks.
constexpr int changes_of_a_file = 200;
constexpr std::uint64_t largest_file = 6 * MiB;
// Of each writer, where nobody says for how long.
constexpr int files_by_default = 5;

// The files that are being written to.
class Desk {
 public:
    void put(std::size_t place, SharedFile file) {
        const std::lock_guard lock{mutex_};
        files_.at(place) = std::move(file);
    }
    SharedFile any(std::mt19937_64& random) const {
        const std::lock_guard lock{mutex_};
        return files_.at(random() % files_.size());
    }

 private:
    mutable std::mutex mutex_;
    std::array<SharedFile, writers> files_;
};

class Stress {
 public:
    explicit Stress(Experiment& experiment)
        : experiment_(experiment),
          root_(experiment.filesystem().root()),
          unit_(smallest_direct_write(root_)),
          block_(direct_write_unit(experiment.filesystem())) {
        if (const auto duration = experiment.duration()) end_ = Clock::now() + *duration;
    }

    void run() {
        {
            std::list<std::jthread> readers;
            for (const auto reading : readings) readers.push_back(start([=, this] { read(reading); }));
            std::list<std::jthread> writing;
            for (std::size_t i = 0; i < writers; ++i) writing.push_back(start([=, this] { write(i); }));
            writing.clear();
            over_ = true;
        }
        if (error_) std::rethrow_exception(error_);
        observe();
    }

 private:
    std::jthread start(std::function<void()> work) {
        return std::jthread{[this, work = std::move(work)] {
            try {
                work();
            } catch (...) {
                const std::lock_guard lock{mutex_};
                if (!error_) error_ = std::current_exception();
                over_ = true;
            }
        }};
    }

    [[nodiscard]] bool goes_on(int files) const {
        return !over_ && (end_ ? Clock::now() < *end_ : files < files_by_default);
    }

    void write(std::size_t place) {
        std::mt19937_64 random{experiment_.seed() + place};
        Findings findings;
        for (int files = 0; goes_on(files); ++files) {
            const auto number = ++files_;
            const auto file = std::make_shared<StressedFile>(root_ / fmt::format("file-{}", number), number,
                                                             number % 2 == 0 ? Cached::yes : Cached::no, unit_, block_);
            desk_.put(place, file);
            for (int i = 0; i < changes_of_a_file && file->size() < largest_file && !over_; ++i) {
                file->change(random);
                ++changes_;
            }
            judge_whole_file(file->path(), file->content(), findings);
            desk_.put(place, nullptr);
            std::filesystem::remove(file->path());
        }
        add(findings);
    }

    void read(Reading reading) {
        std::mt19937_64 random{experiment_.seed() + 100 + static_cast<unsigned>(reading)};
        Findings findings;
        while (!over_) {
            const auto file = desk_.any(random);
            // A direct read that meets a delayed allocation fails on XFS.
            if (!file || (reading == Reading::direct && file->cached() == Cached::yes)) {
                std::this_thread::yield();
                continue;
            }
            look(*file, reading, random, findings);
        }
        add(findings);
    }

    // A file may be gone before it is opened; once it is open, it can be read.
    void look(const StressedFile& file, Reading reading, std::mt19937_64& random, Findings& findings) {
        constexpr int looks = 16;
        std::optional<Reader> reader;
        try {
            reader.emplace(file.path(), reading);
        } catch (const SystemFailure& failure) {
            if (failure.error() == ENOENT) return;
            throw;
        }
        for (int i = 0; i < looks && !over_; ++i) {
            const bool in_window = judged_read(*reader, file.content(), choose(file, random), Writers::some, findings);
            ++reads_;
            if (in_window) ++reads_in_window_;
        }
    }

    // Mostly around the end of file.
    [[nodiscard]] static Range choose(const StressedFile& file, std::mt19937_64& random) {
        constexpr auto around = 32 * KiB;
        const auto size = file.content().acknowledged_size();
        const auto at = random() % 4 == 0 && size > 0 ? random() % size : size;
        const auto begin = (at - std::min(at, random() % around)) / sector_size * sector_size;
        return {begin, begin + around};
    }

    void add(const Findings& findings) {
        const std::lock_guard lock{mutex_};
        findings_.merge(findings);
    }

    void observe() {
        const auto seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
        observe_findings(experiment_, findings_,
                         {{"changes", changes_.load()},
                          {"reads", reads_.load()},
                          {"reads_in_window", reads_in_window_.load()},
                          {"seconds", seconds}});
        const auto words = fmt::format("{:.0f} changes and {:.0f} reads a second, {} reads inside a race window",
                                       static_cast<double>(changes_) / seconds, static_cast<double>(reads_) / seconds,
                                       reads_in_window_.load());
        experiment_.observe("reads_in_window", reads_in_window_.load(), {{"in_words", words}});
    }

    Experiment& experiment_;
    std::filesystem::path root_;
    std::uint64_t unit_;
    std::uint64_t block_;
    Clock::time_point begin_ = Clock::now();
    std::optional<Clock::time_point> end_;
    Desk desk_;
    std::atomic<bool> over_{false};
    std::atomic<std::uint32_t> files_{0};
    std::atomic<std::uint64_t> changes_{0};
    std::atomic<std::uint64_t> reads_{0};
    std::atomic<std::uint64_t> reads_in_window_{0};
    std::mutex mutex_;
    Findings findings_;
    std::exception_ptr error_;
};

void run(Experiment& experiment) {
    age(experiment.filesystem().root(), 16 * MiB, experiment.seed());
    Stress{experiment}.run();
}

}  // namespace

extern const Case stale_data_stress;
const Case stale_data_stress{
    .name = "stale_data.stress",
    .summary = "looks for stale and for lost data while many files change in every way and many readers look",
    .method =
        "On a poisoned and aged disk, four writers change a file each, as fast as the machine allows: direct appends "
        "and overwrites, one and several at a time, in blocks and in sectors; for every other file appends and "
        "overwrites through the page cache; gaps, preallocation, holes punched, syncs. Five readers (two buffered, a "
        "direct, a mapped, one through a pipe) look at any of them, mostly around the end of file, and judge by two "
        "oracles: nothing but zeros or data written at that offset, and acknowledged data is there. Files are given "
        "up for new ones, which get their blocks. Needs no FUSE. Five files a writer, or as many as there is time for "
        "(--for 10m).",
    .needs = {{"feature", "aio"}},
    .disk = DiskNeed::poisoned,
    .in_rounds = true,
    .time_bound = std::chrono::seconds{240},
    .run = run,
};

}  // namespace holdfast::cases
