#include "harness/judge/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/base/failure.h"

namespace holdfast {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

const CaseNames known{"aio_append.at_eof", "aio_append.overwrite", "fallocate.modes"};

Profile parse(const std::string& text) { return Profile::parse(Document::parse(text, "p.json"), known); }

Limitation blocking(const char* observe) {
    return {{{"*"}, {}}, parse_expected_values(Document::parse(observe, "l")), "why", "source"};
}

TEST(Profile, DropsTheLimitationsItNames) {
    const auto profile = parse(R"({"name": "p", "describes": "d", "drops": [
        {"cases": ["aio_append.at_*"], "filesystems": ["ext3*", "ext4*"], "observe": {"submission": "blocks"}},
        {"cases": ["fallocate.*"], "filesystems": ["*"]}]})");
    const auto blocks = blocking(R"({"submission": "blocks", "where": "f"})");
    EXPECT_TRUE(profile.drops_limitation("aio_append.at_eof", "ext4", blocks));
    EXPECT_TRUE(profile.drops_limitation("aio_append.at_eof", "ext3-barrier", blocks));
    EXPECT_FALSE(profile.drops_limitation("aio_append.at_eof", "xfs", blocks));
    EXPECT_FALSE(profile.drops_limitation("aio_append.overwrite", "ext4", blocks));
    EXPECT_FALSE(profile.drops_limitation("aio_append.at_eof", "ext4", blocking(R"({"completed": 0})")));
    EXPECT_FALSE(profile.drops_limitation("aio_append.at_eof", "ext4", blocking(R"({"submission": {"any": true}})")));
    EXPECT_TRUE(profile.drops_limitation("fallocate.modes", "xfs", blocks));
}

TEST(Profile, RefusesWhatItDoesNotUnderstand) {
    const auto refuses = [](const char* text, const char* message) {
        EXPECT_THAT([&] { (void)parse(text); }, ThrowsMessage<BadInput>(HasSubstr(message))) << text;
    };
    refuses(R"({"name": "", "describes": "d", "drops": []})", "p.json:1: name: expected a name");
    refuses(R"({"name": "p", "drops": []})", "the key \"describes\"");
    refuses(R"({"name": "p", "describes": "d", "drop": []})", "drop: unknown key");
    refuses(R"({"name": "p", "describes": "d", "drops": [{"cases": [], "filesystems": ["*"]}]})", "drops[0].cases");
    refuses(R"({"name": "p", "describes": "d", "drops": [{"cases": ["aio.*"], "filesystems": ["*"]}]})",
            "drops[0].cases[0]: expected a pattern that matches a case");
    refuses(
        R"({"name": "p", "describes": "d", "drops": [{"cases": ["*"], "filesystems": ["*"], "observe": {"a": {}}}]})",
        "drops[0].observe.a: expected a string");
}

TEST(Profile, IsFoundByName) {
    const std::vector profiles{parse(R"({"name": "mainline", "describes": "d", "drops": []})"),
                               parse(R"({"name": "other", "describes": "d", "drops": []})")};
    EXPECT_EQ(find_profile(profiles, "other").name, "other");
    EXPECT_THAT([&] { (void)find_profile(profiles, "x"); },
                ThrowsMessage<BadInput>("no profile is called \"x\"; there are mainline, other"));
}

}  // namespace
}  // namespace holdfast
