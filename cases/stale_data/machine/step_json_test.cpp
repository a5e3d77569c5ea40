#include "cases/stale_data/machine/step_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cases/stale_data/machine/generate.h"
#include "fixtures/base/failure.h"

namespace holdfast::machine {
namespace {

using testing::HasSubstr;

std::string refusal_of(const std::string& text) {
    try {
        (void)read_steps(Document::parse(text, "mine.json"));
    } catch (const BadInput& error) {
        return error.what();
    }
    return "taken";
}

TEST(StepJson, WhatIsWrittenIsReadTheSame) {
    const Abilities abilities{.modes = {0, 1, 3}, .moving_modes = {8, 32}, .clones = true, .failing_unit = sector_size};
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const auto json = to_json(generate(abilities, seed));
        EXPECT_EQ(to_json(read_steps(Document::parse(json.dump(), "steps"))), json);
    }
}

TEST(StepJson, WhatIsWrongIsNamedWithItsPlace) {
    EXPECT_THAT(refusal_of(R"([{"do": "jump"}])"), HasSubstr("mine.json:1: [0].do: expected one of write, store, "));
    EXPECT_THAT(refusal_of(R"([{"do": "truncate", "file": 3, "offset": 0}])"),
                HasSubstr("[0].file: expected a number from 0 to 2, found 3"));
    EXPECT_THAT(refusal_of(R"([{"do": "truncate", "file": 1, "offset": 100}])"),
                HasSubstr("[0].offset: expected a multiple of 512 from 0 to 262144, found 100"));
    EXPECT_THAT(refusal_of(R"([{"do": "truncate", "file": 1}])"), HasSubstr("offset"));
    EXPECT_THAT(refusal_of(R"([{"do": "truncate", "file": 1, "offset": 0, "length": 512}])"),
                HasSubstr("no field of this name in a step that does \"truncate\""));
    EXPECT_THAT(refusal_of(R"([{"do": "store", "file": 1, "offset": 262144, "length": 512}])"),
                HasSubstr("a range within the first 262144 bytes"));
    EXPECT_THAT(refusal_of(R"([{"do": "fallocate", "file": 1, "offset": 0, "length": 512, "mode": "PUNCH"}])"),
                HasSubstr("[0].mode: expected one of default, KEEP_SIZE, "));
    EXPECT_THAT(refusal_of(R"([{"do": "together", "release": "reversed", "seed": 1, "steps": [{"do": "power_cut",
                               "back": 0, "kept": "all", "seed": 1}]}])"),
                HasSubstr("[0].steps[0]: expected a step that can be in flight together with others"));
}

}  // namespace
}  // namespace holdfast::machine
