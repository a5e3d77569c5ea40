// A storage daemon preallocates an object of 4 MiB with O_SYNC, by every method there is.
// Published: on ext3, where the C library writes a byte into each block, posix_fallocate takes 176 times as long as one
// pwrite.

#include <array>
#include <map>

#include <fcntl.h>
#include <fmt/format.h>

#include "cases/case.h"
#include "cases/sources/shared/allocation.h"
#include "cases/sources/shared/modelled_disk.h"
#include "fixtures/base/bytes.h"

namespace holdfast::cases {

using namespace holdfast::sources;

namespace {

constexpr std::uint64_t object = 4 * MiB;

void run(Experiment& experiment) {
    ModelledDisk disk{experiment, "rotating", "nothing: one object of 4 MiB, as published"};
    std::map<Allocation, DeviceCost> costs;
    for (const auto method : {Allocation::one_write, Allocation::posix_fallocate, Allocation::fallocate_or_write,
                              Allocation::small_writes, Allocation::truncate}) {
        const auto path = experiment.filesystem().root() / fmt::format("object {}", name_of(method));
        costs[method] = disk.cost_of([&] { allocate(File::create(path, O_SYNC), method, object); });
    }
    disk.observe_ratio("posix_fallocate / one pwrite", costs[Allocation::posix_fallocate], costs[Allocation::one_write],
                       {{"posix_fallocate", "43.05 s"}, {"one pwrite", "0.244 s"}, {"ratio", 176}});
    disk.observe_ratio("fallocate or one pwrite / one pwrite", costs[Allocation::fallocate_or_write],
                       costs[Allocation::one_write], {{"ratio", "the remedy: as fast as one pwrite"}});
    disk.observe_ratio("8 KiB writes / one pwrite", costs[Allocation::small_writes], costs[Allocation::one_write],
                       nullptr);
    disk.observe_ratio("ftruncate / one pwrite", costs[Allocation::truncate], costs[Allocation::one_write], nullptr);
}

}  // namespace

extern const Case sources_s0_object_allocation;
const Case sources_s0_object_allocation{
    .name = "sources.s0_object_allocation",
    .summary = "preallocates an object of 4 MiB with O_SYNC on a rotating disk, by every method there is",
    .method =
        "A new file for each method, opened with O_SYNC, on a modelled SATA disk of 7200 rpm with a write cache; the "
        "time is the device's own. Published (Linux 2.6.32, glibc 2.11, ext3 with barrier=1): posix_fallocate 43.05 "
        "s, one pwrite of 4 MiB 0.244 s, 176 times as long, because glibc writes one byte into each block and each is "
        "a synchronous write. The remedy: fallocate, and where the filesystem refuses, one large pwrite.",
    .needs = {{"feature", "fuse"}},
    .disk = DiskNeed::held,
    .only_by_name = true,
    .full = FullSize{.time_bound = std::chrono::seconds{600}},
    .time_bound = std::chrono::seconds{600},
    .run = run,
};

}  // namespace holdfast::cases
