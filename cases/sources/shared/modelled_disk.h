// What a piece of work costs a modelled device, and how that compares with what was published.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "cases/experiment.h"
#include "fixtures/disk/model/device_model.h"

namespace holdfast::sources {

/// In the device's own time, which passes only while somebody waits for it: what programs and the kernel compute costs
/// nothing, and a busy machine changes nothing.
struct DeviceCost {
    double seconds = 0;
    std::uint64_t writes = 0;
    std::uint64_t flushes = 0;
    std::uint64_t bytes = 0;
    /// The most requests that were under way at once.
    std::uint64_t at_once = 0;

    [[nodiscard]] nlohmann::json to_json() const;
};

/// The held disk of a case, as a device of a model.
class ModelledDisk {
 public:
    /// `scaled` says what is smaller here than in the published run: it stands in the result.
    ModelledDisk(Experiment& experiment, std::string_view model, std::string_view scaled);

    /// Does `work` on an idle device.
    [[nodiscard]] DeviceCost cost_of(const std::function<void()>& work);

    /// Reports "NAME" = what `above` takes in time of what `below` takes, with both and `published` in the evidence.
    void observe_ratio(std::string name, const DeviceCost& above, const DeviceCost& below, nlohmann::json published);

 private:
    Experiment& experiment_;
    DeviceModel model_;
    std::string scaled_;
};

/// What `work` takes on the clock on the wall.
[[nodiscard]] double seconds_of(const std::function<void()>& work);

/// Reports the median of `ratios` of times on the wall, with its interval and `evidence`: for comparison with what the
/// device's time leaves out.
void observe_ratio_of_machine(Experiment& experiment, std::string name, const std::vector<double>& ratios,
                              nlohmann::json evidence);

/// As people read it: three digits that count.
[[nodiscard]] double rounded(double value);

}  // namespace holdfast::sources
