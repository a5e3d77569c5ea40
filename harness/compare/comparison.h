// Two runs side by side: what the second one found out otherwise than the first.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "harness/results/result.h"

namespace holdfast {

/// Worst first, as a comparison lists them.
enum class Change {
    /// A verdict that is further from the contract: PASS or XPASS, XFAIL, FAIL, HANG, CRASH.
    worse,
    /// There was an answer, and there is none now: SKIP or BROKEN.
    lost,
    better,
    /// There is an answer now, and there was none.
    fresh,
    /// Another observation under a verdict that is no better and no worse.
    changed,
    same
};
inline constexpr std::array all_changes{Change::worse, Change::lost,    Change::better,
                                        Change::fresh, Change::changed, Change::same};

/// "worse", "lost", "better", "new", "changed", "same".
[[nodiscard]] std::string_view change_text(Change change);

/// One observation that is not what it was.
struct ObservationChange {
    std::string name;
    Change change = Change::changed;
    /// The value; with repetitions that differ, all of them: "blocks or async". Numbers with several measurements are a
    /// range: "31 to 33". "nothing" where it was not reported.
    std::string before;
    std::string after;
    /// The kernel stacks behind it, where they differ.
    std::vector<std::string> stack_before{};
    std::vector<std::string> stack_after{};
};

/// One case on one filesystem that both runs have, all repetitions together: the worst verdict of them.
struct CaseChange {
    std::string name;
    std::string filesystem;
    Change change = Change::same;
    Verdict before = Verdict::pass;
    Verdict after = Verdict::pass;
    /// Why the verdict is what it is now; empty for PASS.
    std::string reason{};
    std::vector<ObservationChange> observations{};
};

struct Comparison {
    /// What both have, worst first.
    std::vector<CaseChange> cases;
    /// "family.case/filesystem" of what only one of them has: no change, for it was not asked twice.
    std::vector<std::string> only_before;
    std::vector<std::string> only_after;

    [[nodiscard]] std::size_t count(Change change) const;
    /// Something is worse, or an answer is lost.
    [[nodiscard]] bool is_worse() const { return count(Change::worse) + count(Change::lost) > 0; }
};

/// Verdicts and values are compared exactly. A number with several measurements (its samples, and those of repetitions)
/// has changed where the ranges of the two do not overlap.
[[nodiscard]] Comparison compare(const Results& before, const Results& after);

}  // namespace holdfast
