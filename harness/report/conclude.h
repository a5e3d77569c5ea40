// From what a case process reported, and how it ended, to the case's result.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cases/case.h"
#include "fixtures/base/child_process.h"
#include "fixtures/filesystem/recipe.h"
#include "harness/judge/expectations.h"
#include "harness/judge/profile.h"
#include "harness/report/report.h"
#include "harness/results/result.h"

namespace holdfast {

/// What is judged, and by what.
struct Question {
    std::string_view name;
    std::string_view filesystem;
    const Expectations& expectations;
    const Profile& profile;
};

/// What the supervisor saw of a case process besides its report.
struct Ended {
    /// Nothing where the case ran in this process.
    std::optional<Ending> ending{};
    /// It passed its time bound: its kernel stacks, by thread.
    std::optional<nlohmann::json> stacks{};
    /// That bound.
    std::chrono::seconds time_bound{};
    /// The kernel's log lines during the case, and those of them that make it a CRASH.
    std::vector<std::string> kernel_log{};
    std::vector<std::string> alarms{};
};

/// The worst of what happened: damage, a kernel warning or a new taint are a CRASH; a time bound that passed a HANG; a
/// signal a FAIL; then what was observed is judged.
[[nodiscard]] CaseResult conclude(const Question& question, const CaseReport& report, const Ended& ended);

/// What this machine lacks for a case on a filesystem, all of it, with what to do about it: "mkfs.xfs is not installed
/// (apt-get install xfsprogs); ...". Empty where nothing is missing.
[[nodiscard]] std::string missing_for(const Case& one, const Recipe& recipe);

}  // namespace holdfast
