// Results for people.
#pragma once

#include <string>

#include "harness/results/result.h"

namespace holdfast {

struct TextStyle {
    /// ANSI colours: for terminals alone.
    bool colours = false;
    /// The width to wrap at.
    unsigned columns = 100;
};

/// A table of verdicts by family, a block of details for every FAIL, HANG, CRASH and BROKEN, and the summary.
[[nodiscard]] std::string format_text(const Results& results, TextStyle style);

/// "12 cases in 3.4 s: 9 PASS, 2 XFAIL, 1 FAIL".
[[nodiscard]] std::string format_summary(const VerdictCounts& counts, double seconds);

/// The verdict, in its colour where the style has colours.
[[nodiscard]] std::string format_verdict(Verdict verdict, TextStyle style);

}  // namespace holdfast
