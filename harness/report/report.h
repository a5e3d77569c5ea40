// What a case process tells its supervisor, one JSON object a line, as soon as it is known.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "cases/observation.h"
#include "fixtures/filesystem/disposable.h"
#include "fixtures/probe/kernel_log.h"

namespace holdfast {

/// What a case process is doing, for the supervisor to name where it hangs or dies.
inline constexpr std::string_view phase_mkfs = "making and mounting the filesystem";
inline constexpr std::string_view phase_case = "running the case";
inline constexpr std::string_view phase_unmount = "unmounting";
inline constexpr std::string_view phase_fsck = "checking the filesystem";

/// All that a case process told so far.
struct CaseReport {
    std::string phase{"starting"};
    /// Its loop device, from when on the kernel's log means it; empty before there is one.
    DeviceInLog device{};
    /// What kind of disk that is: "file" or "held".
    std::string disk{"file"};
    std::vector<Observation> observations{};
    /// Why the case was skipped, where it was.
    std::optional<std::string> skipped{};
    /// What failed in the surroundings, where something did.
    std::optional<std::string> broken{};
    std::optional<FsckReport> damage{};
    /// The case came to its end.
    bool done = false;

    /// Takes in one message. Throws Failure where it is none.
    void take(const nlohmann::json& message);

 private:
    void take_device(const nlohmann::json& value);
};

/// The messages.
namespace message {
[[nodiscard]] nlohmann::json phase(std::string_view phase);
[[nodiscard]] nlohmann::json device(const DeviceInLog& device, std::string_view disk);
[[nodiscard]] nlohmann::json observation(const Observation& observation);
[[nodiscard]] nlohmann::json skipped(std::string_view why);
[[nodiscard]] nlohmann::json broken(std::string_view what);
[[nodiscard]] nlohmann::json damage(const FsckReport& report);
[[nodiscard]] nlohmann::json done();
}  // namespace message

/// Where messages go.
using Tell = std::function<void(const nlohmann::json&)>;

/// Writes each message as one line to a descriptor.
[[nodiscard]] Tell tell_through(int descriptor);

}  // namespace holdfast
