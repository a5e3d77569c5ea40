#include "cases/sources/shared/modelled_disk.h"

#include <chrono>
#include <cmath>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>

#include "fixtures/disk/held/held_disk.h"
#include "fixtures/io/file.h"
#include "fixtures/measure/ratio.h"

namespace holdfast::sources {

nlohmann::json DeviceCost::to_json() const {
    return {{"seconds", rounded(seconds)},
            {"writes", writes},
            {"flushes", flushes},
            {"bytes", bytes},
            {"at once", at_once}};
}

ModelledDisk::ModelledDisk(Experiment& experiment, std::string_view model, std::string_view scaled)
    : experiment_(experiment), model_(experiment.device_model(model)), scaled_(scaled) {
    if (experiment_.recipe().type == FilesystemType::btrfs)
        experiment_.skip("btrfs is not among the filesystems of the published workloads");
    experiment_.held_disk()->served().set_log_depth(LogDepth::off);
}

// The model is set anew for each work: its clock and its caches begin from nothing.
DeviceCost ModelledDisk::cost_of(const std::function<void()>& work) {
    auto& disk = experiment_.held_disk()->served();
    File::open(experiment_.filesystem().root(), O_RDONLY).sync_filesystem();
    disk.set_model(model_, {.wall = 0});
    work();
    const auto time = disk.model_time();
    disk.clear_model();
    return {.seconds = std::chrono::duration<double>(time.now).count(),
            .writes = time.traffic.writes,
            .flushes = time.traffic.flushes,
            .bytes = time.traffic.bytes,
            .at_once = time.traffic.most_under_way};
}

void ModelledDisk::observe_ratio(std::string name, const DeviceCost& above, const DeviceCost& below,
                                 nlohmann::json published) {
    experiment_.observe({.name = std::move(name),
                         .value = rounded(above.seconds / below.seconds),
                         .unit = "ratio of device times",
                         .evidence = {{"published", std::move(published)},
                                      {"ours", {above.to_json(), below.to_json()}},
                                      {"scaled", scaled_},
                                      {"time", "the device's own, which nobody waits for"},
                                      {"device", model_.name + ", " + model_.describes}}});
}

double seconds_of(const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void observe_ratio_of_machine(Experiment& experiment, std::string name, const std::vector<double>& ratios,
                              nlohmann::json evidence) {
    const auto ratio = estimate(ratios, experiment.seed());
    evidence["interval of 95 %"] = {ratio.low, ratio.high};
    experiment.observe({.name = std::move(name),
                        .value = rounded(ratio.median),
                        .unit = "ratio",
                        .samples = ratios,
                        .evidence = std::move(evidence)});
}

double rounded(double value) {
    if (value == 0 || !std::isfinite(value)) return 0;
    return std::stod(fmt::format("{:.3g}", value));
}

}  // namespace holdfast::sources
