// Counts how often 32 writes make the filesystem convert unwritten extents, and how many bios they take.
// Contract: direct writes convert one by one, a buffered write-back converts once, and nothing else converts.

#include <array>

#include "cases/case.h"
#include "cases/unwritten/shared/write_cost.h"

namespace holdfast::cases {

namespace {

void run(Experiment& experiment) {
    if (experiment.recipe().type == FilesystemType::btrfs) {
        experiment.skip("btrfs has no conversion of unwritten extents to count: it writes a file extent item instead");
    }
    unwritten::observe_costs(experiment, unwritten::main_works,
                             std::array{KernelEvent::conversions, KernelEvent::bios});
}

}  // namespace

extern const Case unwritten_conversion_count;
const Case unwritten_conversion_count{
    .name = "unwritten.conversion_count",
    .summary =
        "counts conversions of unwritten extents, and bios, of 32 writes over data, into unwritten blocks, and past "
        "the end",
    .method =
        "Each kind of work is done five times on new files of one filesystem, and what most of them took counts. XFS "
        "converts once for each direct write; ext4 handles an unwritten extent twice, to split and to convert.",
    .needs = {{"feature", "tracepoints"}},
    .run = run,
};

}  // namespace holdfast::cases
