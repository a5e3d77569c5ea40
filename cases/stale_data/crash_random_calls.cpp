// Cuts the power right after syncs in the middle of random calls.
// Contract: after a power cut at that moment, a file that was synced is exactly what it was.
#include <algorithm>
#include <random>

#include <fcntl.h>
#include <fmt/format.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "cases/fallocate/shared/random_walk.h"
#include "cases/stale_data/shared/judged_read.h"
#include "cases/stale_data/shared/power_cut.h"
#include "fixtures/base/failure.h"
#include "fixtures/io/ageing.h"
#include "fixtures/io/warm_up.h"

namespace holdfast::cases {

using namespace holdfast::fallocate;

namespace {

constexpr std::uint32_t walks = 6;
constexpr int rounds = 5;
constexpr int calls_between_syncs = 10;

// A file right after a sync of it.
struct Moment {
    std::uint64_t log_length;
    std::string name;
    std::vector<std::byte> content;
    std::vector<std::string> calls;
};

class RandomCalls {
 public:
    explicit RandomCalls(Experiment& experiment) : experiment_(experiment), disk_(*experiment.held_disk()) {
        auto& filesystem = experiment.filesystem();
        age(filesystem.root(), 4 * MiB, experiment.seed());
        warm_up(filesystem.root());
        const auto units = allocation_units(filesystem);
        const auto modes = supported_modes(filesystem.root(), units.step);
        for (std::uint32_t number = 0; number < walks; ++number)
            walks_.emplace_back(filesystem.root() / fmt::format("file-{}", number), number, units, modes,
                                Writing::everywhere, experiment.seed() + number);
    }

    void run() {
        for (int round = 0; round < rounds; ++round)
            for (auto& walk : walks_) go_on(walk);
        const auto log = disk_.served().log();
        std::mt19937_64 random{experiment_.seed()};
        for (const auto& moment : moments_) {
            judge(moment, kept_of(log, moment.log_length, Kept::certain, random), "all that was not flushed lost");
            judge(moment, kept_of(log, moment.log_length, Kept::random, random), "a part of what was not flushed lost");
        }
        observe();
    }

 private:
    // What is wrong without a power cut is for fallocate.content_model to find, and wrong here too.
    void go_on(RandomWalk& walk) {
        for (int call = 0; call < calls_between_syncs; ++call)
            if (const auto difference = walk.step())
                findings_.add_lost(fmt::format("{} before any power cut: {}", difference->what, difference->detail));
        walk.sync();
        const auto content = walk.model().content();
        moments_.push_back(
            {disk_.served().log_length(), walk.path().filename(), {content.begin(), content.end()}, walk.steps()});
    }

    void judge(const Moment& moment, const std::vector<std::uint64_t>& keep, std::string_view lost) {
        ++states_;
        const auto state = fmt::format("power cut after call {} of {}, {}", moment.calls.size(), moment.name, lost);
        try {
            DisposableFilesystem crashed{experiment_.recipe(), disk_.crash_state(keep)};
            if (const auto wrong = compare(crashed.root() / moment.name, moment.content); !wrong.empty()) {
                findings_.add_lost(fmt::format("{}: {}; {}", moment.name, wrong, state));
                if (calls_.empty()) calls_ = moment.calls;
            }
            constexpr std::uint64_t checked_one_in = 6;
            if (states_ % checked_one_in != 0) return;
            if (const auto report = crashed.finish(); report.damaged)
                damaged_.push_back(fmt::format("{}: {}: {}", state, report.command, report.output));
        } catch (const Failure& failure) {
            unmountable_.push_back(fmt::format("{}: {}", state, failure.what()));
        }
    }

    static std::string compare(const std::filesystem::path& path, const std::vector<std::byte>& expected) {
        std::error_code error;
        if (!std::filesystem::exists(path, error)) return "is gone";
        const auto file = File::open(path, O_RDONLY);
        if (const auto size = file.size(); size != expected.size())
            return fmt::format("has {} bytes in place of {}", size, expected.size());
        std::vector<std::byte> found(expected.size());
        found.resize(file.read_at(0, found));
        const auto [at, wanted] = std::ranges::mismatch(found, expected);
        if (at == found.end() && wanted == expected.end()) return {};
        return fmt::format("differs from byte {} on", at - found.begin());
    }

    void observe() {
        nlohmann::json evidence{{"states", states_}, {"seed", experiment_.seed()}};
        if (!calls_.empty()) evidence["calls"] = calls_;
        observe_findings(experiment_, findings_, evidence);
        experiment_.observe({.name = "unmountable",
                             .value = unmountable_.size(),
                             .unit = "states",
                             .evidence = {{"first", unmountable_.empty() ? "" : unmountable_.front()}}});
        experiment_.observe({.name = "damaged",
                             .value = damaged_.size(),
                             .unit = "states",
                             .evidence = {{"first", damaged_.empty() ? "" : damaged_.front()}}});
    }

    Experiment& experiment_;
    HeldDisk& disk_;
    std::vector<RandomWalk> walks_;
    std::vector<Moment> moments_;
    Findings findings_;
    std::vector<std::string> calls_;
    std::vector<std::string> unmountable_;
    std::vector<std::string> damaged_;
    std::uint64_t states_ = 0;
};

void run(Experiment& experiment) { RandomCalls{experiment}.run(); }

}  // namespace

extern const Case stale_data_crash_random_calls;
const Case stale_data_crash_random_calls{
    .name = "stale_data.crash_random_calls",
    .summary = "cuts the power right after syncs in the middle of random calls, and compares the files with a model",
    .method =
        "On an aged disk, six files take turns at random calls, as in fallocate.content_model: fallocate in every "
        "mode that the filesystem has, writes in twenty ways and through mappings, ftruncate. After every ten calls "
        "one is synced, by fsync or fdatasync; then what was promised is exact: at that moment of the disk's log, "
        "with all lost that no flush had covered, and with a random part of it lost, the filesystem is mounted, and "
        "the file's size and content must be those of the model. The seed decides about all calls; a failure lists "
        "those of its file.",
    .disk = DiskNeed::held,
    .time_bound = std::chrono::seconds{300},
    .run = run,
};

}  // namespace holdfast::cases
