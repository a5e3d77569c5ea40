// Cuts the power after files were cloned and copied to descriptors of O_SYNC.
// Contract: what such a call has put into the file is durable when it returns (open(2), O_SYNC).
#include "cases/stale_data/shared/crash.h"
#include "fixtures/filesystem/allocation_units.h"

namespace holdfast::cases {
namespace {

using File = CrashTest::WrittenFile;

void run(Experiment& experiment) {
    CrashTest test{experiment};
    const auto unit = direct_write_unit(experiment.filesystem());
    auto& source = test.create();
    source.write_direct({0, 32 * unit});
    source.fsync();
    const auto synchronously = [&](File& target, auto call) {
        target.reopen_synchronously();
        const bool done = call();
        if (done) target.promise_all();
        return done;
    };
    bool any = false;
    auto& whole = test.create();
    any |= synchronously(whole, [&] { return whole.clone(source); });
    for (const auto call : {&File::clone_range, &File::copy}) {
        auto& fresh = test.create();
        any |= synchronously(fresh, [&] { return (fresh.*call)(source, 8 * unit, {0, 16 * unit}); });
        auto& grown = test.create();
        grown.write_direct({0, 4 * unit});
        grown.fsync();
        any |= synchronously(grown, [&] { return (grown.*call)(source, 0, {4 * unit, 20 * unit}); });
    }
    if (!any) experiment.skip("files can be neither cloned nor copied: FICLONE and copy_file_range are EOPNOTSUPP");
    test.cut_power_at_promises();
}

}  // namespace

extern const Case stale_data_crash_synchronous_clone;
const Case stale_data_crash_synchronous_clone{
    .name = "stale_data.crash_synchronous_clone",
    .summary = "cuts the power right after a file was cloned or copied to a descriptor of O_SYNC, and looks for it",
    .method =
        "On an aged disk on which every sector says where it came from, a file is cloned (FICLONE), and a part of it "
        "cloned (FICLONERANGE) and copied (copy_file_range), to new files and to the end of others, each time on a "
        "descriptor of O_SYNC. For the moment after each, a disk is made with just what flushes had covered by then; "
        "it is mounted, so that the filesystem recovers, and the clone or the copy must be there.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
