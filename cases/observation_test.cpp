#include "cases/observation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/base/failure.h"

namespace holdfast {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::ThrowsMessage;

const Observation stack_observation{.name = "submission", .value = "blocks", .evidence = {{"stack", {"iomap_dio_rw"}}}};

TEST(Observation, ComesBackAsItWent) {
    const Observation time{.name = "time", .value = 12.5, .unit = "ns", .samples = {12, 13.0}};
    for (const auto& observation : {stack_observation, time}) {
        const auto text = observation.to_json().dump();
        const auto back = Observation::from_json(json::parse(text));
        EXPECT_EQ(back.name, observation.name);
        EXPECT_EQ(back.value, observation.value);
        EXPECT_EQ(back.unit, observation.unit);
        EXPECT_EQ(back.samples, observation.samples);
        EXPECT_EQ(back.evidence, observation.evidence);
        EXPECT_EQ(back.to_json().dump(), text);
    }
}

TEST(Observation, HasNullForNoUnit) { EXPECT_TRUE(stack_observation.to_json().at("unit").is_null()); }

TEST(Observation, RefusesWhatIsNone) {
    const auto refuses = [](const char* change, const char* why) {
        auto changed = stack_observation.to_json();
        changed.merge_patch(json::parse(change));
        EXPECT_THAT([&] { (void)Observation::from_json(changed); }, ThrowsMessage<Failure>(HasSubstr(why))) << change;
    };
    refuses(R"({"name": null})", "\"name\" is missing");
    refuses(R"({"name": ""})", "the name is not a text");
    refuses(R"({"value": {"a": 1}})", "the value is not");
    refuses(R"({"value": [1]})", "the value is not");
    refuses(R"({"unit": 3})", "the unit is not a text");
    refuses(R"({"samples": ["1"]})", "the samples are not numbers");
    refuses(R"({"evidence": "x"})", "the evidence is not an object");
    refuses(R"({"verdict": "PASS"})", "unknown keys");
    EXPECT_THROW((void)Observation::from_json(json::array()), Failure);
}

}  // namespace
}  // namespace holdfast
