// What a case reports.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace holdfast {

/// A named fact. Never a judgement: whether it is right is for the expectations to say.
struct Observation {
    std::string name;
    /// A string, a number or a boolean.
    nlohmann::json value;
    /// Of a number: "writes", "ns". Empty where there is none.
    std::string unit{};
    /// The single measurements behind a number.
    nlohmann::json samples = nlohmann::json::array();
    /// What backs it, by name: {"stack": ["iomap_dio_rw", ...]}.
    nlohmann::json evidence = nlohmann::json::object();

    [[nodiscard]] nlohmann::json to_json() const;
    [[nodiscard]] static Observation from_json(const nlohmann::json& json);
};

}  // namespace holdfast
