#include "cases/stale_data/machine/generate.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "cases/stale_data/machine/step_json.h"

namespace holdfast::machine {
namespace {

const Abilities everything{.modes = {0, 1, 3}, .moving_modes = {8, 32}, .clones = true, .failing_unit = sector_size};

TEST(Generate, ASeedGivesTheSameSequence) {
    EXPECT_EQ(generate(everything, 7), generate(everything, 7));
    EXPECT_NE(generate(everything, 7), generate(everything, 8));
}

TEST(Generate, EveryActionComesAndNoneThatIsImpossible) {
    std::set<Action> seen;
    std::set<Action> seen_of_few;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        for (const auto& step : generate(everything, seed)) seen.insert(step.action);
        for (const auto& step : generate(Abilities{}, seed)) seen_of_few.insert(step.action);
    }
    EXPECT_EQ(seen.size(), action_names.size());
    for (const auto impossible : {Action::clone, Action::clone_range, Action::failing_write})
        EXPECT_FALSE(seen_of_few.contains(impossible)) << name_of(action_names, impossible);
}

TEST(Generate, DirectWritesKeepToTheUnit) {
    Abilities large = everything;
    large.direct_unit = 4096;
    large.failing_unit = 8192;
    for (std::uint64_t seed = 0; seed < 40; ++seed)
        for (const auto& step : generate(large, seed)) {
            const bool direct = step.action == Action::write && is_direct(step.way);
            EXPECT_TRUE(!direct || (step.offset | step.length) % 4096 == 0) << describe(step);
            const bool failing = step.action == Action::failing_write;
            EXPECT_TRUE(!failing || (step.offset | step.length) % 8192 == 0) << describe(step);
        }
}

TEST(Shrink, LeavesWhatItTakesToFail) {
    // Fails where a file is truncated after it has been written to.
    const auto fails = [](const Steps& steps) {
        const auto write = std::ranges::find(steps, Action::write, &Step::action);
        return std::any_of(write, steps.end(), [](const Step& step) { return step.action == Action::truncate; });
    };
    std::uint64_t seed = 0;
    while (!fails(generate(everything, seed))) ++seed;
    const auto shrunk = shrink(everything, seed, 1000, fails, 5000);
    ASSERT_EQ(shrunk.steps.size(), 2U);
    EXPECT_EQ(describe(shrunk.steps[0]), "write 0+512 of file 0, by pwrite");
    EXPECT_EQ(describe(shrunk.steps[1]), "truncate file 0 to 0");
}

TEST(Shrink, EndsAfterItsTries) {
    unsigned asked = 0;
    const auto fails = [&](const Steps&) { return ++asked % 2 == 0; };
    EXPECT_EQ(shrink(everything, 3, 1000, fails, 25).tries, 25U);
    EXPECT_EQ(asked, 25U);
}

}  // namespace
}  // namespace holdfast::machine
