// Judging: observations on one side, expectations on the other.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "cases/observation.h"
#include "fixtures/probe/kernel_version.h"
#include "harness/judge/expectations.h"
#include "harness/judge/profile.h"
#include "harness/judge/verdict.h"

namespace holdfast {

/// What is judged.
struct Subject {
    std::string_view case_name;
    std::string_view filesystem;
    KernelVersion kernel;
};

/// The part of an expectation that holds for a subject. Points into the expectation.
struct InForce {
    /// By observation: what the contract says, or the last override that covers the subject.
    ExpectedValues expected;
    /// The override a value of `expected` comes from, where it does.
    std::map<std::string, const Override*, std::less<>> overrides;
    std::vector<const Limitation*> limitations;
    /// Those that the profile drops.
    std::vector<const Limitation*> dropped;
};

[[nodiscard]] InForce in_force(const Expectation& expectation, const Subject& subject, const Profile& profile);

/// True where the limitation lists the observation with a value that matches, and everything else which it lists and
/// which is among `observations` matches as well.
[[nodiscard]] bool explains(const Limitation& limitation, const Observation& observation,
                            const std::vector<Observation>& observations);

struct JudgedObservation {
    Observation observation;
    /// As ExpectedValue::json(): what the contract or an override says; for what only a limitation lists, what that
    /// says; null where no expectation covers it.
    nlohmann::json expected;
    Verdict verdict = Verdict::fail;
    /// Why the limitation that made it XFAIL or XPASS exists; else empty.
    std::string limitation{};
    /// The source of that limitation, or of the override it was judged by.
    std::string source{};
};

struct Judgement {
    /// PASS, XFAIL, XPASS or FAIL.
    Verdict verdict = Verdict::fail;
    /// One line; empty for PASS.
    std::string reason;
    std::vector<JudgedObservation> observations;
};

/// - What equals the expected value is PASS; XPASS where a limitation in force says otherwise.
/// - What differs from it is XFAIL where one limitation in force lists it with a value that matches, and everything
///   else which that limitation lists and the case reported matches as well; else FAIL.
/// - What only limitations list (`where` something blocks) is XFAIL where one of them matches as a whole, else FAIL.
/// - What nothing lists is FAIL, and so is a case without an expectation, or that reported nothing.
/// - What is expected and was not reported is FAIL, with null for its value, so that a case that falls silent never
///   passes; but not where it is not judged ({"any": true}), nor after an XFAIL or FAIL, which may have ended the case.
/// The case's verdict is the worst of these; XFAIL is worse than XPASS.
[[nodiscard]] Judgement judge(const Subject& subject, const Expectations& expectations, const Profile& profile,
                              const std::vector<Observation>& observations);

}  // namespace holdfast
