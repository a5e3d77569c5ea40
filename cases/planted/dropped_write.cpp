// stale_data.append_window on a disk that loses the data. Must come out as FAIL: readers find what was there before.
#include "cases/case.h"
#include "cases/experiment.h"

namespace holdfast::cases {

extern const Case stale_data_append_window;

namespace {

void run(Experiment& experiment) {
    experiment.held_disk()->served().add_rule({.filter = RequestFilter::data_writes(), .action = RuleAction::drop});
    stale_data_append_window.run(experiment);
}

}  // namespace

extern const Case planted_dropped_write;
const Case planted_dropped_write{
    .name = "planted.dropped_write",
    .summary = "plays stale_data.append_window on a disk that acknowledges data and drops it",
    .method = "The held disk answers every write of data as done, and keeps what it had.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
