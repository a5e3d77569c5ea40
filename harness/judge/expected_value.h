// What the value of an observation is to be.
#pragma once

#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "fixtures/base/document.h"

namespace holdfast {

/// Written in expectations as
///   "async", 4, true           exactly this
///   {"from": 0, "to": 3}       a number in this range, both ends included
///   {"any_of": ["a", "b"]}     one of these, each exact or a range
///   {"any": true}              whatever it is: recorded, not judged
class ExpectedValue {
 public:
    /// Throws BadInput.
    [[nodiscard]] static ExpectedValue parse(const Value& value);

    [[nodiscard]] bool matches(const nlohmann::json& observed) const;
    /// False for {"any": true}.
    [[nodiscard]] bool judged() const;
    /// As it is written.
    [[nodiscard]] const nlohmann::json& json() const { return written_; }
    /// For people: "async", "0 to 3", "a or b", "anything".
    [[nodiscard]] std::string describe() const;

 private:
    explicit ExpectedValue(nlohmann::json written) : written_(std::move(written)) {}
    nlohmann::json written_;
};

/// By the name of the observation.
using ExpectedValues = std::map<std::string, ExpectedValue, std::less<>>;

/// Reads {"observation": value, ...}. Throws BadInput; also where there is none.
[[nodiscard]] ExpectedValues parse_expected_values(const Value& value);

/// The value of an observation as people read it: strings without quotes.
[[nodiscard]] std::string describe_value(const nlohmann::json& value);

/// describe() of a value as ExpectedValue::json() returned it: for readers of result files.
[[nodiscard]] std::string describe_expected(const nlohmann::json& written);

}  // namespace holdfast
