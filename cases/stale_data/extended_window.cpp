// A file is extended by fallocate, to less than what an append in flight will extend it to.
// Contract: the append moves the end of file, and what was acknowledged below it is there, whoever ends first.
#include "cases/stale_data/shared/window.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    look_through(experiment,
                 {.file = {.written = 4 * block},
                  .operations = {direct_write({5 * block, 6 * block}), allocate(0, {4 * block, 5 * block}),
                                 direct_write({8 * block, 9 * block}), allocate(0, {2 * block, 7 * block})}});
}

}  // namespace

extern const Case stale_data_extended_window;
const Case stale_data_extended_window{
    .name = "stale_data.extended_window",
    .summary = "looks for lost data while fallocate extends a file to less than appends in flight will",
    .method =
        "As stale_data.fallocate_window, but the ranges that fallocate(2) extends the file to end below the appends "
        "that are in flight then: a size that was taken before the append and set after it cuts it off (XFS until "
        "5.4, commit 249bd9087a52; fstests generic/586).",
    .needs = {{"feature", "aio"}},
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
