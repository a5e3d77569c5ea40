#include "harness/judge/verdict.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace holdfast {
namespace {

struct Description {
    std::string_view text;
    int badness;
};

Description describe(Verdict verdict) {
    switch (verdict) {
        case Verdict::pass:
            return {"PASS", 0};
        case Verdict::xpass:
            return {"XPASS", 1};
        case Verdict::xfail:
            return {"XFAIL", 2};
        case Verdict::skip:
            return {"SKIP", 3};
        case Verdict::broken:
            return {"BROKEN", 4};
        case Verdict::fail:
            return {"FAIL", 5};
        case Verdict::hang:
            return {"HANG", 6};
        case Verdict::crash:
            return {"CRASH", 7};
    }
    return {"", 0};  // not reached: the compiler checks that all are there
}

}  // namespace

std::string_view verdict_text(Verdict verdict) { return describe(verdict).text; }

std::optional<Verdict> parse_verdict(std::string_view text) {
    const auto* const found = std::find_if(all_verdicts.begin(), all_verdicts.end(),
                                           [&](Verdict verdict) { return verdict_text(verdict) == text; });
    if (found == all_verdicts.end()) return std::nullopt;
    return *found;
}

Verdict worse(Verdict one, Verdict other) { return describe(one).badness >= describe(other).badness ? one : other; }

bool blames_kernel(Verdict verdict) {
    return verdict == Verdict::fail || verdict == Verdict::hang || verdict == Verdict::crash;
}

std::size_t VerdictCounts::total() const { return std::accumulate(counts_.begin(), counts_.end(), std::size_t{0}); }

Outcome outcome(const VerdictCounts& counts, bool strict) {
    int status = counts.of(Verdict::broken) > 0 ? 3 : 0;
    std::string failures;
    for (const auto verdict : all_verdicts) {
        const bool fails =
            blames_kernel(verdict) || (strict && (verdict == Verdict::xpass || verdict == Verdict::skip));
        if (fails && counts.of(verdict) > 0) status = 1;
        if ((fails || verdict == Verdict::broken) && counts.of(verdict) > 0)
            failures += fmt::format("{}{} {}", failures.empty() ? "" : ", ", counts.of(verdict), verdict_text(verdict));
    }
    if (status != 0) return {status, failures};
    if (counts.nothing_ran()) return {3, "nothing ran"};
    return {0, "nothing failed"};
}

}  // namespace holdfast
