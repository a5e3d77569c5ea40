#include "harness/results/result.h"

#include <fmt/format.h>

namespace holdfast {
namespace {

using nlohmann::json;

json text_or_null(const std::string& text) { return text.empty() ? json{} : json(text); }

json judged_to_json(const JudgedObservation& judged) {
    auto json = judged.observation.to_json();
    json["expected"] = judged.expected;
    json["verdict"] = verdict_text(judged.verdict);
    json["limitation"] = text_or_null(judged.limitation);
    json["source"] = text_or_null(judged.source);
    return json;
}

json shard_to_json(const std::optional<Shard>& shard) {
    if (!shard) return nullptr;
    return {{"index", shard->index}, {"total", shard->total}};
}

unsigned parse_unsigned(const Value& value) {
    const auto number = value.unsigned_integer();
    if (number > UINT32_MAX) value.refuse(fmt::format("an integer up to {}", UINT32_MAX));
    return static_cast<unsigned>(number);
}

double parse_seconds(const Value& value) {
    if (value.number() < 0) value.refuse("seconds, 0 or more");
    return value.number();
}

std::string parse_text_or_null(const std::optional<Value>& value) {
    return value && !value->json().is_null() ? value->text() : std::string{};
}

json parse_object(const std::optional<Value>& value) {
    if (!value) return json::object();
    if (!value->json().is_object()) value->refuse("an object");
    return value->json();
}

Verdict parse_verdict_value(const Value& value) {
    const auto verdict = parse_verdict(value.text());
    if (!verdict) value.refuse("a verdict (PASS, XFAIL, XPASS, FAIL, HANG, CRASH, SKIP, BROKEN)");
    return *verdict;
}

JudgedObservation parse_judged(const Value& value) {
    const auto observed = value.required("value");
    if (observed.json().is_structured()) observed.refuse("a string, a number, true, false or null");
    const auto samples = value.required("samples");
    for (const auto& sample : samples.items()) (void)sample.number();
    return {.observation = {.name = value.required("name").text(),
                            .value = observed.json(),
                            .unit = parse_text_or_null(value.required("unit")),
                            .samples = samples.json(),
                            .evidence = parse_object(value.required("evidence"))},
            .expected = value.required("expected").json(),
            .verdict = parse_verdict_value(value.required("verdict")),
            .limitation = parse_text_or_null(value.optional("limitation")),
            .source = parse_text_or_null(value.optional("source"))};
}

CaseResult parse_case(const Value& value) {
    CaseResult result{.name = value.required("case").text(),
                      .filesystem = value.required("filesystem").text(),
                      .disk = value.required("disk").text(),
                      .verdict = parse_verdict_value(value.required("verdict")),
                      .seconds = parse_seconds(value.required("seconds")),
                      .reason = parse_text_or_null(value.required("reason"))};
    if (value.required("family").text() != result.family())
        value.required("family").refuse(fmt::format("\"{}\"", result.family()));
    for (const auto& judged : value.required("observations").items())
        result.observations.push_back(parse_judged(judged));
    result.kernel_log = value.required("kernel_log").texts();
    result.evidence = parse_object(value.optional("evidence"));
    result.output = parse_text_or_null(value.optional("output"));
    result.command = parse_text_or_null(value.optional("command"));
    if (const auto seed = value.optional("seed")) result.seed = seed->unsigned_integer();
    if (const auto repetition = value.optional("repetition")) result.repetition = parse_unsigned(*repetition);
    return result;
}

std::optional<Shard> parse_shard(const Value& value) {
    if (value.json().is_null()) return std::nullopt;
    const Shard shard{parse_unsigned(value.required("index")), parse_unsigned(value.required("total"))};
    if (shard.index >= shard.total) value.refuse("an index below the total");
    return shard;
}

RunInfo parse_run(const Value& value) {
    return {.id = value.required("id").text(),
            .started = value.required("started").text(),
            .seconds = parse_seconds(value.required("seconds")),
            .seed = value.required("seed").unsigned_integer(),
            .profile = value.required("profile").text(),
            .matrix = value.required("matrix").text(),
            .shard = parse_shard(value.required("shard"))};
}

MachineInfo parse_machine(const Value& value) {
    const auto kernel = value.required("kernel");
    MachineInfo machine{.kernel_release = kernel.required("release").text(),
                        .kernel_version = kernel.required("version").text(),
                        .cpus = parse_unsigned(value.required("cpus")),
                        .memory_bytes = value.required("memory_bytes").unsigned_integer()};
    for (const auto& [name, version] : value.required("tools").members()) machine.tools.emplace(name, version.text());
    return machine;
}

// A summary that does not add up is the mark of a file that somebody has edited or cut.
void check_summary(const Value& value, const VerdictCounts& counts) {
    for (const auto verdict : all_verdicts) {
        const auto count = value.required(verdict_text(verdict));
        if (count.unsigned_integer() != counts.of(verdict))
            count.refuse(fmt::format("{}, as many as there are among the cases", counts.of(verdict)));
    }
}

}  // namespace

json to_json(const RunInfo& run) {
    return {{"id", run.id},           {"started", run.started}, {"seconds", run.seconds},           {"seed", run.seed},
            {"profile", run.profile}, {"matrix", run.matrix},   {"shard", shard_to_json(run.shard)}};
}

json to_json(const MachineInfo& machine) {
    return {{"kernel", {{"release", machine.kernel_release}, {"version", machine.kernel_version}}},
            {"cpus", machine.cpus},
            {"memory_bytes", machine.memory_bytes},
            {"tools", json(machine.tools)}};
}

json to_json(const VerdictCounts& summary) {
    json counts;
    for (const auto verdict : all_verdicts) counts[std::string{verdict_text(verdict)}] = summary.of(verdict);
    return counts;
}

json CaseResult::to_json() const {
    auto judged = json::array();
    for (const auto& one : observations) judged.push_back(judged_to_json(one));
    return {{"case", name},
            {"family", family()},
            {"filesystem", filesystem},
            {"disk", disk},
            {"verdict", verdict_text(verdict)},
            {"seconds", seconds},
            {"reason", reason},
            {"observations", std::move(judged)},
            {"kernel_log", kernel_log},
            {"evidence", evidence},
            {"output", output},
            {"command", command},
            {"seed", seed},
            {"repetition", repetition}};
}

std::vector<CaseResult> Results::planned() const {
    auto all = cases;
    all.insert(all.end(), not_run.begin(), not_run.end());
    return all;
}

VerdictCounts Results::summary() const {
    VerdictCounts counts;
    for (const auto& result : cases) counts.add(result.verdict);
    return counts;
}

json Results::to_json() const {
    auto results = json::array();
    for (const auto& result : cases) results.push_back(result.to_json());
    return {{"schema", result_schema},
            {"run", holdfast::to_json(run)},
            {"machine", holdfast::to_json(machine)},
            {"cases", std::move(results)},
            {"summary", holdfast::to_json(summary())}};
}

Results Results::parse(const Value& document) {
    const auto schema = document.required("schema");
    if (schema.text() != result_schema) schema.refuse(fmt::format("\"{}\"", result_schema));
    Results results{.run = parse_run(document.required("run")),
                    .machine = parse_machine(document.required("machine")),
                    .cases = {}};
    for (const auto& one : document.required("cases").items()) results.cases.push_back(parse_case(one));
    check_summary(document.required("summary"), results.summary());
    return results;
}

}  // namespace holdfast
