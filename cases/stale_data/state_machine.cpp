// Random sequences of calls, failures and power cuts, each on a filesystem of its own, against a model; what fails is made
// as small as possible.
// Contract: files show what was written to them, or zeros; after a failed write the old or the new; after a power cut, what
// was promised.
#include "cases/case.h"
#include "cases/stale_data/machine/search.h"

namespace holdfast::cases {

namespace {

void run(Experiment& experiment) { machine::search_for_failure(experiment, "stale_data.state_machine"); }

}  // namespace

extern const Case stale_data_state_machine;
const Case stale_data_state_machine{
    .name = "stale_data.state_machine",
    .summary = "carries out random sequences of calls, failures and power cuts against a model, and shrinks what fails",
    .method =
        "Each sequence has an aged filesystem of its own, and three files: writes in seventeen ways and through "
        "mappings, fallocate in every mode that there is, ftruncate, copies and clones, syncs, dropped pages, looks "
        "by five kinds of reader, writes that the disk fails, calls in flight together whose data the disk completes "
        "in some order, and power cuts, after which a moment of the disk's log is mounted and judged beside the "
        "filesystem. A model says of each sector what it must be, or after failures, overlapping calls and power cuts "
        "may be. A sequence that fails is shrunk to one as small as possible, told step by step, and can be carried "
        "out again: holdfast replay. Eight sequences, or as many as there is time for (--for 10m). The seed decides "
        "about all of them.",
    .disk = DiskNeed::held,
    .fails_io = true,
    .in_rounds = true,
    .time_bound = std::chrono::seconds{600},
    .run = run,
};

}  // namespace holdfast::cases
