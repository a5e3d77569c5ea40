// stale_data.crash_overwrite on a disk that ignores flushes. Must come out as FAIL: a power cut loses what was promised.
#include "cases/case.h"
#include "cases/experiment.h"

namespace holdfast::cases {

extern const Case stale_data_crash_overwrite;

namespace {

void run(Experiment& experiment) {
    experiment.held_disk()->served().add_rule({.filter = RequestFilter::all_flushes(), .action = RuleAction::drop});
    stale_data_crash_overwrite.run(experiment);
}

}  // namespace

extern const Case planted_dropped_flush;
const Case planted_dropped_flush{
    .name = "planted.dropped_flush",
    .summary = "plays stale_data.crash_overwrite on a disk that acknowledges flushes and ignores them",
    .method = "The held disk answers every flush as done, and still loses what it had not written for certain.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
