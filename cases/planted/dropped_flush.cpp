// Power cuts on a disk that ignores flushes. Each case must come out as FAIL: what was promised is lost.
#include <array>

#include "cases/case.h"
#include "cases/planted/shared/one_answer.h"

namespace holdfast::cases {

extern const Case stale_data_crash_overwrite;
extern const Case stale_data_crash_random_calls;
extern const Case stale_data_crash_sync_ways;
extern const Case stale_data_crash_many_extents;

namespace {

constexpr std::array asked{
    Asked{&stale_data_crash_overwrite, "lost"},
    Asked{&stale_data_crash_random_calls, "lost"},
    Asked{&stale_data_crash_sync_ways, "lost"},
    Asked{&stale_data_crash_many_extents, "lost"},
};

void run(Experiment& experiment) {
    experiment.held_disk()->served().add_rule({.filter = RequestFilter::all_flushes(), .action = RuleAction::drop});
    play(experiment, asked);
}

}  // namespace

extern const Case planted_dropped_flush;
const Case planted_dropped_flush{
    .name = "planted.dropped_flush",
    .summary = "plays power cuts on a disk that acknowledges flushes and ignores them",
    .method = "The held disk answers every flush as done, and still loses what it had not written for certain.",
    .disk = DiskNeed::held,
    .time_bound = std::chrono::seconds{300},
    .run = run,
};

}  // namespace holdfast::cases
