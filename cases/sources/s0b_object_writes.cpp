// The same storage daemon on an SSD: a volume is written and rewritten in large direct writes, which go into objects of
// 4 MiB that were made beforehand, in two ways.
// Published: objects made by fallocate, or one pwrite where that is refused, take writes faster than sparse ones.

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>

#include "cases/case.h"
#include "cases/sources/shared/allocation.h"
#include "cases/sources/shared/modelled_disk.h"
#include "fixtures/base/bytes.h"
#include "fixtures/measure/ratio.h"

namespace holdfast::cases {

using namespace holdfast::sources;

namespace {

constexpr std::uint64_t object = 4 * MiB;

struct Size {
    unsigned objects;
    std::string_view scaled;
};
constexpr Size small{.objects = 8, .scaled = "2 writes of 16 MiB in place of 16 of 64 MiB"};
constexpr Size published{.objects = 256, .scaled = "nothing: 16 writes of 64 MiB, as published"};

struct Volume {
    DeviceCost first_write;
    DeviceCost rewrite;
};

std::vector<File> make_objects(Experiment& experiment, Allocation method, unsigned objects) {
    std::vector<File> files;
    for (unsigned number = 0; number < objects; ++number) {
        const auto path = experiment.filesystem().root() / fmt::format("object {} {}", number, name_of(method));
        allocate(File::create(path, O_SYNC), method, object);
        files.push_back(File::open(path, O_RDWR | O_DIRECT | O_SYNC));
    }
    return files;
}

void write_all(const std::vector<File>& files, std::uint32_t generation) {
    for (const File& file : files) rewrite(file, object, object, generation);
}

void remove_all(const std::vector<File>& files) {
    for (const File& file : files) std::filesystem::remove(file.path());
}

Volume write_volume(Experiment& experiment, ModelledDisk& disk, Allocation method, unsigned objects) {
    const auto files = make_objects(experiment, method, objects);
    Volume volume{.first_write = disk.cost_of([&] { write_all(files, 1); }),
                  .rewrite = disk.cost_of([&] { write_all(files, 2); })};
    remove_all(files);
    return volume;
}

// What the device's time leaves out: what a first write takes on a disk that answers at once. Reported for comparison, and
// not judged: it depends on the machine.
void observe_time_of_machine(Experiment& experiment) {
    constexpr unsigned rounds = 5;
    const auto time_of = [&](Allocation method) {
        const auto files = make_objects(experiment, method, small.objects);
        const auto seconds = seconds_of([&] { write_all(files, 1); });
        remove_all(files);
        return seconds;
    };
    const auto ratios = measure_interleaved(
        rounds, [&] { return time_of(Allocation::fallocate_or_write); },
        [&] { return time_of(Allocation::last_sector); });
    observe_ratio_of_machine(experiment, "time of the machine, first write, sparse / allocated", ratios,
                             {{"published", "1.19, machine and device together"}});
}

void run(Experiment& experiment) {
    const auto& size = experiment.full() ? published : small;
    ModelledDisk disk{experiment, "ssd", size.scaled};
    const auto sparse = write_volume(experiment, disk, Allocation::last_sector, size.objects);
    const auto allocated = write_volume(experiment, disk, Allocation::fallocate_or_write, size.objects);
    disk.observe_ratio("first write, sparse / allocated", sparse.first_write, allocated.first_write,
                       {{"sparse", "52.9 MB/s"}, {"allocated", "62.7 MB/s"}, {"ratio", 1.19}});
    disk.observe_ratio("rewrite, sparse / allocated", sparse.rewrite, allocated.rewrite,
                       {{"sparse", "49.0 MB/s"}, {"allocated", "54.4 MB/s"}, {"ratio", 1.11}});
    observe_time_of_machine(experiment);
}

}  // namespace

extern const Case sources_s0b_object_writes;
const Case sources_s0b_object_writes{
    .name = "sources.s0b_object_writes",
    .summary = "writes and rewrites a volume of 4 MiB objects on an SSD, sparse ones and allocated ones",
    .method =
        "Objects are made by a pwrite of their last sector, or by fallocate, or one pwrite where that is refused; "
        "then direct synchronous writes fill them, twice, on a modelled SATA solid state drive; the time is the "
        "device's own. Published (ext3 on an SSD, 16 writes of 64 MiB): sparse 52.9 MB/s and rewritten 49.0 MB/s, "
        "allocated 62.7 and 54.4 MB/s.",
    .needs = {{"feature", "fuse"}},
    .disk = DiskNeed::held,
    .only_by_name = true,
    .full = FullSize{.filesystem = 2 * GiB, .memory = 64 * MiB},
    .time_bound = std::chrono::seconds{600},
    .run = run,
};

}  // namespace holdfast::cases
