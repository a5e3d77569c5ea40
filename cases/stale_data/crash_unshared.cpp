// Cuts the power after a file has given up blocks that it shared, and the other file has written to them.
// Contract: after a power cut at any moment, a reader sees zeros or data written there; so who has given up blocks, which a
// power cut may undo, must not see what others have written to them since.
#include <utility>
#include <vector>

#include <linux/falloc.h>

#include "cases/stale_data/shared/crash.h"
#include "fixtures/base/failure.h"
#include "fixtures/filesystem/allocation_units.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    CrashTest test{experiment};
    const auto unit = direct_write_unit(experiment.filesystem());
    const Range given_up{4 * unit, 12 * unit};
    using File = CrashTest::WrittenFile;
    std::vector<std::pair<File*, File*>> pairs;
    for (int i = 0; i < 3; ++i) {
        auto& source = test.create();
        pairs.emplace_back(&source, &test.create());
    }
    for (const auto& [source, clone] : pairs) {
        source->write_direct({0, 16 * unit});
        source->fsync();
        if (!clone->clone(*source)) experiment.skip("files cannot be cloned: FICLONE is EOPNOTSUPP");
        clone->fsync();
    }
    pairs[0].first->truncate(given_up.begin);
    if (!pairs[1].first->zero(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, given_up))
        throw Failure("a filesystem that clones and cannot punch");
    pairs[2].first->write_direct(given_up);
    for (const auto& [source, clone] : pairs) clone->write_direct(given_up);
    for (const auto& [source, clone] : pairs) clone->fsync();
    test.cut_power();
}

}  // namespace

extern const Case stale_data_crash_unshared;
const Case stale_data_crash_unshared{
    .name = "stale_data.crash_unshared",
    .summary = "cuts the power after a file gave up blocks that it shared and the other one has written to them",
    .method =
        "On an aged disk on which every sector says where it came from, files are cloned (FICLONE) and synced. Then "
        "the sources are cut short, punched and written to, which none of them syncs, and the clones written to "
        "directly in the same place, while the disk keeps a log of all writes and flushes. At many points of that "
        "log, a disk is made that has what was written up to there, and others that lost a part of what no flush had "
        "covered; each is mounted, so that the filesystem recovers, and read. A source may be as it was before or "
        "after, but must show nothing that was written to its clone.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
