// Cuts the power while a file grows by synchronous direct appends.
// Contract: after a power cut at any moment, a reader sees zeros or data written there, and all that a sync promised.
#include "cases/stale_data/shared/crash.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    CrashTest test{experiment};
    auto& file = test.create();
    for (std::uint64_t i = 0; i < 8; ++i) file.write_durably(SyncWay::direct_o_dsync, {i * 8 * KiB, (i + 1) * 8 * KiB});
    test.cut_power();
}

}  // namespace

extern const Case stale_data_crash_dsync_append;
const Case stale_data_crash_dsync_append{
    .name = "stale_data.crash_dsync_append",
    .summary = "cuts the power while a file grows by direct appends with RWF_DSYNC, of which each is a promise",
    .method =
        "As stale_data.crash_direct_append, but each append is a pwritev2(2) with RWF_DSYNC: as soon as it has "
        "returned, a power cut may lose neither its data nor the size.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
