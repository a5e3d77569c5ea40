// Cases of stale_data on a disk that loses the data. Each must come out as FAIL: readers find what was there before.
#include <array>

#include "cases/case.h"
#include "cases/planted/shared/one_answer.h"

namespace holdfast::cases {

extern const Case stale_data_append_window;
extern const Case stale_data_full_disk;
extern const Case stale_data_mapped_tail;
extern const Case stale_data_stress;

namespace {

constexpr std::array asked{
    Asked{&stale_data_append_window, "stale"},
    Asked{&stale_data_full_disk, "stale"},
    Asked{&stale_data_mapped_tail, "an append"},
    Asked{&stale_data_stress, "stale"},
};

void run(Experiment& experiment) {
    experiment.held_disk()->served().add_rule({.filter = RequestFilter::data_writes(), .action = RuleAction::drop});
    play(experiment, asked);
}

}  // namespace

extern const Case planted_dropped_write;
const Case planted_dropped_write{
    .name = "planted.dropped_write",
    .summary = "plays cases of stale_data on a disk that acknowledges data and drops it",
    .method = "The held disk answers every write of data as done, and keeps what it had.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
