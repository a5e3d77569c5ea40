#include "harness/results/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/base/failure.h"
#include "harness/results/result_examples.h"

namespace holdfast {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::string dump(const json& value) { return value.dump(-1, ' ', true, json::error_handler_t::replace); }

Results parse(const json& value) { return Results::parse(Document::parse(dump(value), "r.json")); }

TEST(Results, ComeBackAsTheyWent) {
    const auto written = json::parse(dump(example_results().to_json()));
    EXPECT_EQ(parse(written).to_json(), written);
}

TEST(Results, HaveTheNamesOfTheContract) {
    const auto written = example_results().to_json();
    EXPECT_EQ(written.at("schema"), "holdfast-results/1");
    EXPECT_EQ(written.at("run").at("seed"), 18446744073709551615U);
    EXPECT_EQ(written.at("run").at("shard"), (json{{"index", 1}, {"total", 3}}));
    EXPECT_EQ(written.at("machine").at("kernel").at("release"), "6.18.44");
    EXPECT_EQ(written.at("summary").at("PASS"), 1);
    EXPECT_EQ(written.at("summary").size(), 8U);
    const auto& xfail = written.at("cases").at(1);
    EXPECT_EQ(xfail.at("family"), "aio_append");
    const auto& observation = xfail.at("observations").at(0);
    EXPECT_EQ(observation.at("expected"), "async");
    EXPECT_EQ(observation.at("verdict"), "XFAIL");
    EXPECT_EQ(observation.at("source"), "commit 378f32bab371");
    EXPECT_EQ(observation.at("evidence").at("stack").at(0), "iomap_dio_rw");
    EXPECT_TRUE(observation.at("unit").is_null());
    EXPECT_TRUE(written.at("cases").at(0).at("observations").at(0).at("limitation").is_null());
}

TEST(Results, ARunWithoutShardsHasNull) {
    auto results = example_results();
    results.run.shard.reset();
    EXPECT_TRUE(results.to_json().at("run").at("shard").is_null());
    EXPECT_FALSE(parse(results.to_json()).run.shard);
}

TEST(Results, IgnoreWhatALaterVersionAdds) {
    auto written = example_results().to_json();
    written["new"] = 1;
    written["cases"][0]["new"] = 1;
    written["run"]["new"] = 1;
    EXPECT_NO_THROW((void)parse(written));
}

TEST(Results, RefuseWhatIsNone) {
    const auto refuses = [](const char* pointer, const json& value, const char* message) {
        auto changed = example_results().to_json();
        changed[json::json_pointer{pointer}] = value;
        EXPECT_THAT([&] { (void)parse(changed); }, ThrowsMessage<BadInput>(HasSubstr(message))) << pointer;
    };
    refuses("/schema", "holdfast-results/2", "r.json:1: schema: expected \"holdfast-results/1\"");
    refuses("/cases/0/verdict", "OK", "cases[0].verdict: expected a verdict");
    refuses("/cases/0/family", "fallocate", "cases[0].family: expected \"aio_append\"");
    refuses("/cases/1/seconds", -1, "cases[1].seconds: expected seconds");
    refuses("/cases/1/observations/0/value", json::array(), "cases[1].observations[0].value: expected");
    refuses("/cases/1/observations/0/evidence", 1, "cases[1].observations[0].evidence: expected an object");
    refuses("/run/shard/index", 3, "run.shard: expected an index below the total");
    refuses("/machine/cpus", 4294967296, "machine.cpus: expected an integer up to 4294967295");
    refuses("/summary/PASS", 2, "summary.PASS: expected 1, as many as there are among the cases, found 2");
    EXPECT_THROW((void)parse(json::array()), BadInput);
}

}  // namespace
}  // namespace holdfast
