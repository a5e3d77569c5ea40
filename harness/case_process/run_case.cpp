#include "harness/case_process/run_case.h"

#include <optional>

#include "cases/experiment.h"
#include "fixtures/base/bytes.h"
#include "fixtures/base/failure.h"
#include "fixtures/probe/features.h"
#include "fixtures/probe/kernel_log.h"
#include "harness/case_process/full_size.h"

namespace holdfast {
namespace {

std::string device_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

void check(DisposableFilesystem& filesystem, const Tell& tell) {
    tell(message::phase(phase_unmount));
    filesystem.unmount();
    tell(message::phase(phase_fsck));
    if (const auto report = filesystem.finish(); report.damaged) tell(message::damage(report));
}

// A filesystem is checked also after a case that failed: damage says more about the kernel than that failure.
void run_and_check(const Case& one, DisposableFilesystem& filesystem, const CaseOptions& options, const Tell& tell) {
    Experiment experiment{filesystem, options,
                          [&](const Observation& observation) { tell(message::observation(observation)); }};
    try {
        tell(message::phase(phase_case));
        one.run(experiment);
    } catch (const Skipped& skipped) {
        tell(message::skipped(skipped.why));
    } catch (const std::exception& error) {
        tell(message::broken(error.what()));
    }
    check(filesystem, tell);
}

// A held disk lives in memory, with a bit for each sector.
constexpr std::uint64_t largest_held_disk = 64 * GiB;

bool can_be_held(const Recipe& recipe) { return recipe.size <= largest_held_disk && !find_missing_feature("fuse"); }

// Tells from when to when the kernel's log means the disk of the case.
class TimeOfDisk {
 public:
    explicit TimeOfDisk(const Tell& tell) : tell_(tell) {}

    void begin(const Disk& disk) {
        (void)log_.read_new();
        device_ = {.name = device_name(disk.device_path()), .after = log_.last_sequence()};
        kind_ = disk.kind();
        tell_(message::device(device_, kind_));
    }
    // While it is still attached.
    void end() {
        (void)log_.read_new();
        device_.until = log_.last_sequence();
        tell_(message::device(device_, kind_));
    }

 private:
    const Tell& tell_;
    KernelLog log_;
    DeviceInLog device_;
    std::string kind_;
};

}  // namespace

DiskKind disk_kind_for(const Case& one, const Recipe& recipe) {
    switch (one.disk) {
        case DiskNeed::zeroed:
            break;
        case DiskNeed::poisoned:
            return DiskKind::poisoned_file;
        case DiskNeed::held_if_possible:
            return can_be_held(recipe) ? DiskKind::held : DiskKind::zeroed_file;
        case DiskNeed::held:
            return DiskKind::held;
    }
    return DiskKind::zeroed_file;
}

void run_case(const Case& one, const Recipe& recipe, const RunDirectory& directory, const CaseOptions& options,
              const Tell& tell) {
    try {
        tell(message::phase(phase_mkfs));
        TimeOfDisk time{tell};
        const auto sized = options.full ? at_full_size(one, recipe) : recipe;
        DisposableFilesystem filesystem{sized, directory, disk_kind_for(one, sized),
                                        [&](const Disk& disk) { time.begin(disk); }};
        try {
            run_and_check(one, filesystem, options, tell);
        } catch (...) {
            time.end();
            throw;
        }
        time.end();
    } catch (const std::exception& error) {
        tell(message::broken(error.what()));
    }
    tell(message::done());
}

}  // namespace holdfast
