#include "harness/verbs/progress.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/results/result_examples.h"

namespace holdfast {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr Case example_case{.name = "a.b", .summary = "", .method = ""};

class ProgressTest : public testing::Test {
 protected:
    ProgressTest() { recipe.name = "ext4"; }

    // What was written to standard error meanwhile.
    template <typename Action>
    static std::string written_by(Action action) {
        testing::internal::CaptureStderr();
        action();
        return testing::internal::GetCapturedStderr();
    }
    static auto drawings(const std::string& text) { return std::count(text.begin(), text.end(), '\r'); }

    Recipe recipe;
    Planned planned{&example_case, &recipe};
    CaseResult passed = example_results().cases[0];
};

TEST_F(ProgressTest, IsDrawnAFewTimesASecond) {
    Progress progress{3, true, {}};
    const auto text = written_by([&] {
        for (int i = 0; i < 10'000; ++i) progress.ticked({});
    });
    EXPECT_GE(drawings(text), 1);
    EXPECT_LE(drawings(text), 5);
    EXPECT_THAT(text, HasSubstr("case 0 of 3"));
}

TEST_F(ProgressTest, IsDrawnWhenACaseEnds) {
    Progress progress{3, true, {}};
    const auto text = written_by([&] {
        progress.ticked({});
        progress.finished(planned, passed);
        progress.ticked({});
    });
    EXPECT_THAT(text, HasSubstr("case 1 of 3"));
}

TEST_F(ProgressTest, IsCutToANarrowTerminal) {
    Progress progress{3, true, {.colours = false, .columns = 7}};
    EXPECT_EQ(written_by([&] { progress.ticked({}); }), "\r\033[Kcase 0 ");
}

TEST_F(ProgressTest, IsALineForEachCaseWhereThereIsNoTerminal) {
    Progress progress{3, false, {}};
    EXPECT_THAT(written_by([&] { progress.ticked({}); }), IsEmpty());
    EXPECT_EQ(written_by([&] { progress.finished(planned, passed); }), "[1/3] PASS a.b/ext4 (0.21 s)\n");
}

}  // namespace
}  // namespace holdfast
