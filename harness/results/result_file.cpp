#include "harness/results/result_file.h"

#include <fmt/format.h>

#include "fixtures/base/failure.h"
#include "harness/results/replace_file.h"

namespace holdfast {
namespace {

using Clock = std::chrono::steady_clock;

// What writing may take: this once, and this part of the run's time.
constexpr std::chrono::seconds allowance{1};
constexpr int part_of_run = 20;

// A kernel log or the output of a case may hold any bytes.
std::string dump(const nlohmann::json& json) {
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// The text of a result file before and after its cases.
std::string head_of(const RunInfo& run, const MachineInfo& machine) {
    return fmt::format("{{\"schema\": {},\n\"run\": {},\n\"machine\": {},\n\"cases\": [\n", dump(result_schema),
                       dump(to_json(run)), dump(to_json(machine)));
}
std::string tail_of(const VerdictCounts& summary) {
    return fmt::format("\n],\n\"summary\": {}}}\n", dump(to_json(summary)));
}

// Cases stand on lines of their own.
void append_to(std::string& cases, const CaseResult& result) {
    if (!cases.empty()) cases += ",\n";
    cases += dump(result.to_json());
}

// A link stands for the file it leads to, which is replaced, not the link.
std::filesystem::path resolve(const std::filesystem::path& path) {
    std::error_code error;
    const auto type = std::filesystem::status(path, error).type();
    if (type != std::filesystem::file_type::regular && type != std::filesystem::file_type::not_found)
        throw BadInput(fmt::format("{}: results cannot be written there: it is not a regular file", path.string()));
    auto resolved = std::filesystem::weakly_canonical(path, error);
    return error ? std::filesystem::absolute(path) : resolved;
}

}  // namespace

ResultFile::ResultFile(const std::filesystem::path& path, RunInfo run, MachineInfo machine)
    : path_(resolve(path)), run_(std::move(run)), machine_(std::move(machine)), start_(Clock::now()) {
    try {
        write(false);
    } catch (const SystemFailure& failure) {
        throw BadInput(fmt::format("{}: results cannot be written there: {}", path.string(), failure.what()));
    }
}

void ResultFile::append(const CaseResult& result) { append_to(cases_, result); }

void ResultFile::add(const CaseResult& result) {
    append(result);
    summary_.add(result.verdict);
    if (spent_writing_ <= allowance + (Clock::now() - start_) / part_of_run) write(false);
}

void ResultFile::finish() { write(true); }

void ResultFile::finish(std::span<const CaseResult> in_order) {
    cases_.clear();
    for (const auto& result : in_order) append(result);
    finish();
}

// Assembled from parts: what is written again and again must not be converted again and again.
void ResultFile::write(bool durable) {
    const auto begin = Clock::now();
    run_.seconds = std::chrono::duration<double>(begin - start_).count();
    replace_file(path_, {head_of(run_, machine_), cases_, tail_of(summary_)}, durable);
    spent_writing_ += Clock::now() - begin;
}

void write_result_file(const std::filesystem::path& path, const Results& results) {
    std::string cases;
    for (const auto& result : results.cases) append_to(cases, result);
    replace_file(resolve(path), {head_of(results.run, results.machine), cases, tail_of(results.summary())}, true);
}

Results read_result_file(const std::filesystem::path& path) { return Results::parse(Document::load(path)); }

}  // namespace holdfast
