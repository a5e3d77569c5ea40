// stale_data.state_machine on a disk that loses one write of data. Must come out as FAIL, with few steps.
#include "cases/case.h"
#include "cases/stale_data/machine/search.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    machine::search_for_failure(experiment, "planted.lost_write", [](ServedDisk& disk) {
        disk.add_rule({.filter = RequestFilter::data_writes(), .action = RuleAction::drop, .after = 1, .times = 1});
    });
}

}  // namespace

extern const Case planted_lost_write;
const Case planted_lost_write{
    .name = "planted.lost_write",
    .summary = "plays stale_data.state_machine on a disk that loses the second write of data",
    .method = "The held disk answers the second write of data of each sequence as done, and keeps what it had.",
    .disk = DiskNeed::held,
    .fails_io = true,
    .in_rounds = true,
    .run = run,
};

}  // namespace holdfast::cases
