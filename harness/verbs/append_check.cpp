// holdfast append-check: do appends through io_submit block in a directory of the user's?
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "fixtures/base/bytes.h"
#include "fixtures/base/failure.h"
#include "fixtures/probe/kernel_version.h"
#include "harness/results/wrap.h"
#include "harness/verbs/append_conclusion.h"
#include "harness/verbs/verb.h"

namespace holdfast {
namespace {

// As for a run in which nothing was found out.
constexpr int status_unclear = 3;
constexpr std::size_t line_width = 100;

struct AppendCheckOptions {
    std::string directory;
    unsigned writes = 300;
    bool json = false;
};

double microseconds(std::chrono::nanoseconds time) { return std::chrono::duration<double, std::micro>{time}.count(); }

nlohmann::json describe(const WayResult& result) {
    nlohmann::json json{{"way", way_name(result.way)}};
    if (result.refused) {
        json["refused"] = *result.refused;
        return json;
    }
    const auto& count = result.count;
    json.update({{"submissions", count.submissions},
                 {"slept", count.slept},
                 {"complete_on_return", count.complete},
                 {"slept_and_complete", count.blocked},
                 {"median_us", microseconds(count.median)},
                 {"percentile99_us", microseconds(count.percentile99)},
                 {"outcome", outcome_name(count.outcome())},
                 {"waits_in", result.waits_in ? nlohmann::json(*result.waits_in) : nlohmann::json()}});
    if (result.way == Way::two_appends) json["overlapped"] = result.overlapped;
    return json;
}

void print_json(const AppendCheckOptions& options, const AppendCheck& check, const AppendConclusion& conclusion) {
    nlohmann::json json{{"directory", options.directory},
                        {"kernel", kernel_release()},
                        {"filesystem", nullptr},
                        {"block", check.block},
                        {"sees_stacks", check.sees_stacks},
                        {"ways", nlohmann::json::array()},
                        {"could_tell", conclusion.could_tell},
                        {"answer", conclusion.answer},
                        {"advice", conclusion.advice},
                        {"notes", conclusion.notes}};
    if (check.mount)
        json["filesystem"] = {{"type", check.mount->type},
                              {"source", check.mount->source},
                              {"device", check.mount->device},
                              {"options", check.mount->options}};
    for (const auto& result : check.ways) json["ways"].push_back(describe(result));
    fmt::print("{}\n", json.dump(2));
}

void print_head(const AppendCheckOptions& options, const AppendCheck& check) {
    fmt::print("directory   {}\n", options.directory);
    if (check.mount)
        fmt::print("filesystem  {} ({})\ndevice      {} ({})\n", check.mount->type, check.mount->options,
                   check.mount->source, check.mount->device);
    fmt::print("kernel      {}\n", kernel_release());
    fmt::print("writes      {} of {} each way, O_DIRECT, through io_submit\n\n", options.writes,
               format_bytes(check.block));
}

void print_way(const WayResult& result) {
    if (result.refused) {
        fmt::print("{:<22}  not done: {}\n", way_name(result.way), *result.refused);
        return;
    }
    const auto& count = result.count;
    fmt::print("{:<22}  {:>12}  {:>18}  {:>9.1f}  {:>9.1f}{}\n", way_name(result.way),
               fmt::format("{} of {}", count.slept, count.submissions), count.complete, microseconds(count.median),
               microseconds(count.percentile99), result.waits_in ? "  " + *result.waits_in : "");
}

void print_paragraph(const std::string& text) {
    for (const auto& line : wrap(text, line_width)) fmt::print("{}\n", line);
}

void print_text(const AppendCheckOptions& options, const AppendCheck& check, const AppendConclusion& conclusion) {
    print_head(options, check);
    fmt::print("{:<22}  {:>12}  {:>18}  {:>9}  {:>9}\n", "in io_submit", "slept", "complete on return", "median us",
               "99 % us");
    for (const auto& result : check.ways) print_way(result);
    fmt::print("\n");
    print_paragraph(conclusion.answer);
    print_paragraph(conclusion.advice);
    for (const auto& note : conclusion.notes) print_paragraph(note);
}

int append_check(const AppendCheckOptions& options) {
    const auto check = check_appends(options.directory, options.writes);
    const auto conclusion = conclude(check);
    if (options.json)
        print_json(options, check, conclusion);
    else
        print_text(options, check, conclusion);
    return conclusion.could_tell ? 0 : status_unclear;
}

}  // namespace

void add_append_check(CLI::App& app, Action& action) {
    const auto options = std::make_shared<AppendCheckOptions>();
    auto* verb = app.add_subcommand("append-check", "Ask whether appends through io_submit block in a directory");
    verb->add_option("directory", options->directory, "Where: on the filesystem in question")->required();
    verb->add_option("--writes", options->writes, "How many writes each way")
        ->capture_default_str()
        ->check(CLI::Range(20U, 1000U));
    verb->add_flag("--json", options->json, "Print JSON");
    verb->footer(
        "Example: holdfast append-check /var/lib/postgresql\n"
        "Writes a few MiB to a scratch file without a name. Needs no privilege; root also sees where calls wait.\n"
        "Exit status: 0 when it could tell, 2 for a directory that cannot be used, 3 otherwise.");
    verb->callback([&action, options] { action = [options] { return append_check(*options); }; });
}

}  // namespace holdfast
