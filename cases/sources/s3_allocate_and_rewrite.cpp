// The same database on a later kernel: many log files, each allocated, synced, rewritten once and synced.
// Published: posix_fallocate saves almost half of the time.

#include "cases/case.h"
#include "cases/sources/shared/log_files.h"
#include "fixtures/base/bytes.h"

namespace holdfast::cases {

using namespace holdfast::sources;

namespace {

void run(Experiment& experiment) {
    const unsigned files = experiment.full() ? 64 : 8;
    ModelledDisk disk{
        experiment, "rotating",
        experiment.full() ? "nothing: 64 files of 16 MiB, as published" : "8 files of 16 MiB in place of 64"};
    const LogFiles what{.files = files, .rewrites = 1, .size = 16 * MiB};
    unsigned wrong_sizes = 0;
    const auto classic = cost_of(experiment, disk, what, Allocation::small_writes, wrong_sizes);
    const auto emulation = cost_of(experiment, disk, what, Allocation::emulation, wrong_sizes);
    const auto fallocate = cost_of(experiment, disk, what, Allocation::posix_fallocate, wrong_sizes);
    const nlohmann::json published{{"8 KiB writes", "25.5 s"}, {"emulation", "25.5 s"}, {"posix_fallocate", "14.5 s"}};
    disk.observe_ratio("posix_fallocate / 8 KiB writes", fallocate, classic, published);
    disk.observe_ratio("emulation / 8 KiB writes", emulation, classic, published);
    experiment.observe("size of every file", wrong_sizes == 0 ? "right" : "wrong");
}

}  // namespace

extern const Case sources_s3_allocate_and_rewrite;
const Case sources_s3_allocate_and_rewrite{
    .name = "sources.s3_allocate_and_rewrite",
    .summary = "allocates many log files in three ways, and rewrites each of them once",
    .method =
        "As sources.s2_log_files: each file is allocated, synced, rewritten once in writes of 8 KiB, and synced, on a "
        "modelled SATA disk with a write cache; the time is the device's own. Published (ext4, kernel 3.5, 64 files "
        "of 16 MiB): writes of 8 KiB 25.5 s, the emulation 25.5 s, posix_fallocate 14.5 s (0.57).",
    .needs = {{"feature", "fuse"}},
    .disk = DiskNeed::held,
    .only_by_name = true,
    .full = FullSize{.filesystem = 4 * GiB, .memory = 2 * GiB},
    .time_bound = std::chrono::seconds{600},
    .run = run,
};

}  // namespace holdfast::cases
