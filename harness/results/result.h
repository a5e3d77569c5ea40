// What a run leaves behind: the result file of design.md, as values. results/schema.json is its schema.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "fixtures/base/document.h"
#include "harness/judge/judge.h"
#include "harness/judge/verdict.h"

namespace holdfast {

inline constexpr std::string_view result_schema = "holdfast-results/1";

/// Which part of a run this is; the first has index 0, as for GTEST_SHARD_INDEX.
struct Shard {
    unsigned index = 0;
    unsigned total = 1;
};

struct RunInfo {
    std::string id;
    /// RFC 3339, in UTC: "2024-05-01T12:00:00Z".
    std::string started;
    double seconds = 0;
    std::uint64_t seed = 0;
    std::string profile;
    /// "default", "extended", or what the command line chose.
    std::string matrix;
    std::optional<Shard> shard{};
};

struct MachineInfo {
    /// uname(2): release and version.
    std::string kernel_release;
    std::string kernel_version;
    unsigned cpus = 0;
    std::uint64_t memory_bytes = 0;
    /// By name: {"mkfs.ext4": "1.47.0"}; only those that are there.
    std::map<std::string, std::string> tools{};
};

/// One case on one filesystem.
struct CaseResult {
    /// "family.case".
    std::string name;
    std::string filesystem;
    /// "file" or "held".
    std::string disk;
    Verdict verdict = Verdict::broken;
    double seconds = 0;
    /// One line; empty for PASS.
    std::string reason{};
    std::vector<JudgedObservation> observations{};
    /// What the kernel logged during the case.
    std::vector<std::string> kernel_log{};
    /// What backs the verdict itself, by name: the kernel stacks of a HANG, what fsck said of a CRASH.
    nlohmann::json evidence = nlohmann::json::object();
    /// What the case process wrote; kept where the verdict is FAIL, HANG, CRASH or BROKEN.
    std::string output{};
    /// The one command that does it again.
    std::string command{};
    std::uint64_t seed = 0;
    /// With --repeat: which time this is, from 1.
    unsigned repetition = 1;

    [[nodiscard]] std::string_view family() const { return std::string_view{name}.substr(0, name.find('.')); }
    [[nodiscard]] nlohmann::json to_json() const;
};

struct Results {
    RunInfo run;
    MachineInfo machine;
    std::vector<CaseResult> cases;
    /// What was planned and did not run because a signal ended the run: BROKEN, with that for a reason. For the formats
    /// that say how many tests there are; neither in the summary nor in the result file, for nothing was found out.
    std::vector<CaseResult> not_run{};

    /// `cases`, and then `not_run`.
    [[nodiscard]] std::vector<CaseResult> planned() const;
    [[nodiscard]] VerdictCounts summary() const;
    [[nodiscard]] nlohmann::json to_json() const;
    /// Ignores keys it does not know: later versions add some. Throws BadInput naming file, line and field.
    [[nodiscard]] static Results parse(const Value& document);
};

[[nodiscard]] nlohmann::json to_json(const RunInfo& run);
[[nodiscard]] nlohmann::json to_json(const MachineInfo& machine);
[[nodiscard]] nlohmann::json to_json(const VerdictCounts& summary);

}  // namespace holdfast
