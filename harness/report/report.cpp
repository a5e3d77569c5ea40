#include "harness/report/report.h"

#include <fmt/format.h>
#include <unistd.h>

#include "fixtures/base/failure.h"

namespace holdfast {

namespace message {

nlohmann::json phase(std::string_view phase) { return {{"phase", phase}}; }
nlohmann::json device(const DeviceInLog& device, std::string_view disk) {
    return {{"device", {{"name", device.name}, {"after", device.after}, {"until", device.until}, {"disk", disk}}}};
}
nlohmann::json observation(const Observation& observation) { return {{"observation", observation.to_json()}}; }
nlohmann::json skipped(std::string_view why) { return {{"skipped", why}}; }
nlohmann::json broken(std::string_view what) { return {{"broken", what}}; }
nlohmann::json damage(const FsckReport& report) {
    return {{"damage", {{"command", report.command}, {"output", report.output}}}};
}
nlohmann::json done() { return {{"done", true}}; }

}  // namespace message

void CaseReport::take(const nlohmann::json& message) {
    try {
        const auto member = message.begin();
        const auto& kind = member.key();
        const auto& value = member.value();
        if (kind == "phase")
            phase = value.get<std::string>();
        else if (kind == "device")
            take_device(value);
        else if (kind == "observation")
            observations.push_back(Observation::from_json(value));
        else if (kind == "skipped")
            skipped = value.get<std::string>();
        else if (kind == "broken")
            broken = value.get<std::string>();
        else if (kind == "damage")
            damage = FsckReport{.damaged = true, .command = value.at("command"), .output = value.at("output")};
        else if (kind == "done")
            done = value.get<bool>();
        else
            throw Failure(fmt::format("a case process sent an unknown message: {}", message.dump()));
    } catch (const nlohmann::json::exception& error) {
        throw Failure(fmt::format("a case process sent a message that cannot be read: {}", error.what()));
    }
}

void CaseReport::take_device(const nlohmann::json& value) {
    device = {.name = value.at("name"), .after = value.at("after"), .until = value.at("until")};
    disk = value.at("disk");
}

Tell tell_through(int descriptor) {
    return [descriptor](const nlohmann::json& message) {
        // Bytes that are no UTF-8 (a tool's output) must not cost the message.
        auto line = message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
        for (std::string_view rest = line; !rest.empty();)
            rest.remove_prefix(static_cast<std::size_t>(
                checked(::write(descriptor, rest.data(), rest.size()), "telling the supervisor")));
    };
}

}  // namespace holdfast
