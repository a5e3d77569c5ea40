// The published workloads on devices that are not what they are taken for. Each case must come out as FAIL.
#include <array>

#include "cases/case.h"
#include "cases/planted/shared/one_answer.h"

namespace holdfast::cases {

extern const Case sources_s0_object_allocation;
extern const Case sources_s1_random_writes;
extern const Case sources_s4_batch_of_writes;

namespace {

constexpr std::array asked{
    Asked{&sources_s0_object_allocation, "8 KiB writes / one pwrite"},
    Asked{&sources_s1_random_writes, "one drive / two, regular"},
    Asked{&sources_s4_batch_of_writes, "appended / preallocated"},
};

// No arm to wait for, no second drive, no cache that takes a write at once.
DeviceModel other_device(std::string_view name) {
    if (name == "rotating") return shipped_device_model("ssd");
    if (name == "flash-striped") return shipped_device_model("flash");
    return shipped_device_model(name == "san" ? "rotating" : name);
}

void run(Experiment& experiment) { play(experiment, asked, {.device_model = other_device}); }

}  // namespace

extern const Case planted_other_device;
const Case planted_other_device{
    .name = "planted.other_device",
    .summary = "plays the published workloads on devices with other figures",
    .method = "An SSD stands for the rotating disk, one flash drive for two, and a rotating disk for the SAN array.",
    .needs = {{"feature", "tracepoints"}},
    .disk = DiskNeed::held,
    .time_bound = std::chrono::seconds{600},
    .run = run,
};

}  // namespace holdfast::cases
