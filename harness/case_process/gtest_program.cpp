#include "harness/case_process/gtest_program.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fixtures/base/failure.h"
#include "fixtures/disk/run_directory.h"
#include "fixtures/probe/kernel_version.h"
#include "harness/case_process/run_case.h"
#include "harness/catalogue/catalogue.h"
#include "harness/catalogue/plan.h"
#include "harness/judge/judge.h"
#include "harness/report/conclude.h"

namespace holdfast {
namespace {

struct Options {
    OwnFiles own;
    std::string profile = "mainline";
    CaseOptions run;
    ReportingOptions reporting;
};

void parse(Options& options, int argc, char** argv) {
    CLI::App app{"Runs cases as GoogleTest tests, in this process. All options of GoogleTest work."};
    app.add_option("--recipe", options.own.recipes, "A filesystem of your own (a file; see images/README.md)");
    app.add_option("--expectations", options.own.expectations, "Expectations of your own (a file)");
    app.add_option("--profile", options.profile, "The set of expectations to judge by");
    app.add_option("--seed", options.run.seed, "Where all randomness comes from");
    app.add_option_function<unsigned>(
        "--for", [&options](unsigned seconds) { options.run.duration = std::chrono::seconds{seconds}; },
        "Seconds for which cases that work in rounds go on");
    app.add_flag("--full", options.run.full, "Published workloads at the sizes that they had");
    app.add_option(option_replay, options.run.replayed)->group("");
    app.add_option(option_report, options.reporting.report)->group("");
    app.add_option(option_shared, options.reporting.shared)->group("");
    app.add_option(option_images, options.reporting.images)->group("");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() != 0) throw BadInput(error.what());
        app.exit(error);
    }
}

// What all tests of this process stand on.
struct Surroundings {
    Options options;
    Catalogue catalogue;
    // Made by the first test that runs: listing tests needs no privilege.
    std::optional<RunDirectory> directory{};

    const RunDirectory& run_directory() {
        if (!directory) {
            const auto& reporting = options.reporting;
            directory = reporting.shared >= 0 ? RunDirectory::inherited(reporting.shared, reporting.images)
                                              : RunDirectory::in_memory();
        }
        return *directory;
    }
};

class CaseTest : public testing::Test {
 public:
    CaseTest(Surroundings& surroundings, const Case& one, const Recipe& recipe)
        : surroundings_(surroundings), case_(one), recipe_(recipe) {}

    void TestBody() override {
        if (surroundings_.options.reporting.report >= 0)
            run_case(case_, recipe_, surroundings_.run_directory(), surroundings_.options.run,
                     tell_through(surroundings_.options.reporting.report));
        else
            run_and_judge();
    }

 private:
    void run_and_judge() {
        if (const auto missing = missing_for(case_, recipe_); !missing.empty()) GTEST_SKIP() << missing;
        CaseReport report;
        run_case(case_, recipe_, surroundings_.run_directory(), surroundings_.options.run,
                 [&](const nlohmann::json& message) { report.take(message); });
        const auto& catalogue = surroundings_.catalogue;
        const auto result = conclude({.name = case_.name,
                                      .filesystem = recipe_.name,
                                      .expectations = catalogue.expectations,
                                      .profile = find_profile(catalogue.profiles, surroundings_.options.profile)},
                                     report, Ended{});
        for (const auto& judged : result.observations)
            fmt::print("    {} {} = {}\n", verdict_text(judged.verdict), judged.observation.name,
                       describe_value(judged.observation.value));
        const auto said =
            fmt::format("{}{}{}", verdict_text(result.verdict), result.reason.empty() ? "" : " ", result.reason);
        if (result.verdict == Verdict::skip) GTEST_SKIP() << said;
        if (blames_kernel(result.verdict) || result.verdict == Verdict::broken) {
            ADD_FAILURE() << said << "\n" << result.evidence.dump(2);
        } else {
            fmt::print("    {}\n", said);
        }
    }

    Surroundings& surroundings_;
    const Case& case_;
    const Recipe& recipe_;
};

void register_tests(Surroundings& surroundings) {
    for (const auto* one : surroundings.catalogue.cases) {
        const std::string suite{one->family()};
        const std::string_view name = one->name.substr(suite.size() + 1);
        for (const auto& recipe : surroundings.catalogue.recipes)
            testing::RegisterTest(suite.c_str(), fmt::format("{}/{}", name, recipe.name).c_str(), nullptr, nullptr,
                                  __FILE__, __LINE__, [&surroundings, one, &recipe]() -> testing::Test* {
                                      return new CaseTest(surroundings, *one, recipe);  // GoogleTest deletes it
                                  });
    }
}

}  // namespace

bool is_gtest_command_line(int argc, char** argv) {
    return std::any_of(argv + 1, argv + argc,
                       [](const char* argument) { return std::string_view{argument}.starts_with("--gtest_"); });
}

int run_gtest_program(const Contents& contents, int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    GTEST_FLAG_SET(filter, filter_for_gtest(GTEST_FLAG_GET(filter)));
    Options options;
    parse(options, argc, argv);
    Surroundings surroundings{.options = options, .catalogue = Catalogue::load(contents, options.own)};
    register_tests(surroundings);
    return RUN_ALL_TESTS();
}

}  // namespace holdfast
