// Counts what durable writes cost the journal and the disk, by what is at their place: data, unwritten blocks, nothing.
// Contract: a durable overwrite is one flush and no commit; a write into unwritten blocks commits their conversion, once
// for each fdatasync and not for each write.

#include <array>

#include "cases/case.h"
#include "cases/unwritten/shared/write_cost.h"

namespace holdfast::cases {

namespace {

void run(Experiment& experiment) {
    unwritten::observe_costs(experiment, unwritten::main_works, std::array{KernelEvent::commits, KernelEvent::flushes});
}

}  // namespace

extern const Case unwritten_direct_write_cost;
const Case unwritten_direct_write_cost{
    .name = "unwritten.direct_write_cost",
    .summary =
        "counts journal commits and disk flushes of 32 writes over data, into unwritten blocks, and past the end",
    .method =
        "Each kind of work is done five times on new files of one filesystem, and what most of them took counts: "
        "commits of jbd2 or writes of XFS log buffers, and flush requests that the disk got. Tracepoints count them; "
        "without tracing, the statistics of jbd2, XFS and the block layer do.",
    .run = run,
};

}  // namespace holdfast::cases
