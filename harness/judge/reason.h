// The one line that says why a case got its verdict.
#pragma once

#include <string>

#include "harness/judge/judge.h"

namespace holdfast {

/// FAIL: what differs from what. XFAIL and XPASS: the limitations and their sources. Empty for PASS.
[[nodiscard]] std::string reason_for(const Judgement& judgement, const InForce& rules, const Profile& profile);

/// "submission is blocks, expected async"; "submission was not reported, expected async"; "no expectation covers where
/// (iomap_dio_rw)".
[[nodiscard]] std::string describe_deviation(const JudgedObservation& judged);

}  // namespace holdfast
