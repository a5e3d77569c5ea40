#include "harness/verbs/run_output.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "fixtures/base/failure.h"
#include "harness/results/junit.h"
#include "harness/results/ktap.h"

namespace holdfast {
namespace {

// Opened before anything runs, so that a path that cannot be written costs no run.
std::unique_ptr<std::ofstream> open_junit(const std::filesystem::path& path) {
    if (path.empty()) return nullptr;
    auto stream = std::make_unique<std::ofstream>(path, std::ios::trunc);
    if (!*stream) throw BadInput(fmt::format("{}: cannot be written: {}", path.string(), std::strerror(errno)));
    return stream;
}

// Each would replace the other.
void refuse_one_file_for_both(const std::filesystem::path& results, const std::filesystem::path& junit) {
    const auto place = [](const auto& path) {
        return std::filesystem::weakly_canonical(std::filesystem::absolute(path));
    };
    if (!junit.empty() && place(results) == place(junit))
        throw BadInput(fmt::format("{}: --results and --junit need a file each", junit.string()));
}

// What tells an entry of the plan, and its result, from all others.
using Identity = std::tuple<std::string_view, std::string_view, unsigned>;
Identity identity_of(const Planned& planned) { return {planned.one->name, planned.recipe->name, planned.repetition}; }
Identity identity_of(const CaseResult& result) { return {result.name, result.filesystem, result.repetition}; }

}  // namespace

TextStyle style_of(int descriptor) {
    if (::isatty(descriptor) == 0) return {};
    winsize size{};
    const bool known = ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return {.colours = std::getenv("NO_COLOR") == nullptr, .columns = known ? size.ws_col : 80U};
}

std::filesystem::path result_path(const RunOptions& options, const std::string& run_id) {
    if (!options.results.empty()) return options.results;
    std::error_code error;
    std::filesystem::create_directory("results", error);
    if (error && !std::filesystem::is_directory("results"))
        throw BadInput(
            fmt::format("results: cannot make this directory for the result file ({}); name another "
                        "file with --results FILE",
                        error.message()));
    return std::filesystem::path{"results"} / (run_id + ".json");
}

void sort_like(const std::vector<Planned>& plan, std::vector<CaseResult>& cases) {
    std::map<Identity, std::size_t> positions;
    for (const auto& planned : plan) positions.emplace(identity_of(planned), positions.size());
    std::ranges::sort(cases, {}, [&](const CaseResult& result) { return positions.at(identity_of(result)); });
}

std::vector<CaseResult> find_not_run(const std::vector<Planned>& plan, const Results& results, std::string_view why) {
    std::set<Identity> ran;
    for (const auto& result : results.cases) ran.insert(identity_of(result));
    std::vector<CaseResult> not_run;
    for (const auto& planned : plan) {
        if (ran.contains(identity_of(planned))) continue;
        not_run.push_back({.name = std::string{planned.one->name},
                           .filesystem = planned.recipe->name,
                           .disk = "file",
                           .verdict = Verdict::broken,
                           .reason = fmt::format("did not run: {}", why),
                           .seed = results.run.seed,
                           .repetition = planned.repetition});
    }
    return not_run;
}

RunOutput::RunOutput(const RunOptions& options) : options_(options) {
    if (!options.results.empty()) refuse_one_file_for_both(options.results, options.junit);
    junit_ = open_junit(options.junit);
}

void RunOutput::report(const Results& results, const std::filesystem::path& file) {
    fmt::print("{}", options_.format == "ktap" ? format_ktap(results) : format_text(results, style_of(STDOUT_FILENO)));
    if (junit_ && !(*junit_ << format_junit(results) << std::flush))
        throw Failure(fmt::format("{}: cannot be written", options_.junit.string()));
    if (options_.format == "text") fmt::print("Results: {}\n", file.string());
    // Where both go into one file, what is said afterwards on standard error would otherwise cut a line in two.
    std::fflush(stdout);
}

}  // namespace holdfast
