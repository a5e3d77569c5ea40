// Power cuts on a disk on which sizes are durable before the data that they count. Each case must come out as FAIL.
#include <array>

#include "cases/case.h"
#include "cases/planted/shared/one_answer.h"

namespace holdfast::cases {

extern const Case stale_data_crash_buffered_append;
extern const Case stale_data_crash_direct_append;
extern const Case stale_data_crash_keep_size;

namespace {

constexpr std::array asked{
    Asked{&stale_data_crash_direct_append, "stale"},
    Asked{&stale_data_crash_buffered_append, "stale"},
    Asked{&stale_data_crash_keep_size, "stale"},
};

void run(Experiment& experiment) {
    experiment.held_disk()->served().add_rule({.filter = RequestFilter::data_writes(), .action = RuleAction::drop});
    play(experiment, asked);
}

}  // namespace

extern const Case planted_early_durable_size;
const Case planted_early_durable_size{
    .name = "planted.early_durable_size",
    .summary = "plays power cuts on a disk on which the size of a file is durable before the data",
    .method =
        "The held disk answers every write of data as done, and has not written it yet when the power is cut; what "
        "the filesystem writes of its own is on the disk.",
    .disk = DiskNeed::held,
    .time_bound = std::chrono::seconds{300},
    .run = run,
};

}  // namespace holdfast::cases
