// unwritten.cost_per_write on an ext4 that never flushes the disk's cache. Must come out as FAIL: what fdatasync and O_DSYNC
// promise, a power cut would break.
#include <sys/mount.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "fixtures/base/failure.h"

namespace holdfast::cases {

extern const Case unwritten_cost_per_write;

namespace {

void run(Experiment& experiment) {
    const auto& root = experiment.filesystem().root();
    checked(::mount("none", root.c_str(), nullptr, MS_REMOUNT, "barrier=0"), "remounting with barrier=0");
    unwritten_cost_per_write.run(experiment);
}

}  // namespace

extern const Case planted_missing_flush;
const Case planted_missing_flush{
    .name = "planted.missing_flush",
    .summary = "plays unwritten.cost_per_write on a filesystem that flushes nothing",
    .method = "The filesystem is mounted again with barrier=0.",
    .needs = {{"feature", "tracepoints"}},
    .run = run,
};

}  // namespace holdfast::cases
