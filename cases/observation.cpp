#include "cases/observation.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "fixtures/base/failure.h"

namespace holdfast {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 5> keys{"name", "value", "unit", "samples", "evidence"};

[[noreturn]] void refuse(const json& observation, std::string_view why) {
    throw Failure(fmt::format("what the case reported is no observation: {}: {}", why,
                              observation.dump(-1, ' ', true, json::error_handler_t::replace)));
}

void demand(bool holds, const json& observation, std::string_view why) {
    if (!holds) refuse(observation, why);
}

bool are_numbers(const json& samples) {
    return samples.is_array() &&
           std::all_of(samples.begin(), samples.end(), [](const json& s) { return s.is_number(); });
}

void check(const json& observation) {
    demand(observation.is_object(), observation, "not an object");
    for (const auto key : keys) demand(observation.contains(key), observation, fmt::format("\"{}\" is missing", key));
    demand(observation.size() == keys.size(), observation, "unknown keys");
    const auto& name = observation.at("name");
    demand(name.is_string() && !name.get_ref<const std::string&>().empty(), observation, "the name is not a text");
    const auto& value = observation.at("value");
    demand(value.is_string() || value.is_number() || value.is_boolean(), observation,
           "the value is not a string, a number or a boolean");
    const auto& unit = observation.at("unit");
    demand(unit.is_null() || unit.is_string(), observation, "the unit is not a text");
    demand(are_numbers(observation.at("samples")), observation, "the samples are not numbers");
    demand(observation.at("evidence").is_object(), observation, "the evidence is not an object");
}

}  // namespace

json Observation::to_json() const {
    return {{"name", name},
            {"value", value},
            {"unit", unit.empty() ? json{} : json(unit)},
            {"samples", samples},
            {"evidence", evidence}};
}

Observation Observation::from_json(const json& json) {
    check(json);
    const auto& unit = json.at("unit");
    return {.name = json.at("name").get<std::string>(),
            .value = json.at("value"),
            .unit = unit.is_null() ? std::string{} : unit.get<std::string>(),
            .samples = json.at("samples"),
            .evidence = json.at("evidence")};
}

}  // namespace holdfast
