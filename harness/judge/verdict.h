// The verdicts of design.md, and what they make of a run.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

enum class Verdict { pass, xfail, xpass, fail, hang, crash, skip, broken };

/// In the order in which summaries name them.
inline constexpr std::array all_verdicts{Verdict::pass, Verdict::xfail, Verdict::xpass, Verdict::fail,
                                         Verdict::hang, Verdict::crash, Verdict::skip,  Verdict::broken};

/// "PASS".
[[nodiscard]] std::string_view verdict_text(Verdict verdict);
/// Nothing where the text is no verdict. Upper case only, as in result files.
[[nodiscard]] std::optional<Verdict> parse_verdict(std::string_view text);

/// The worse of two: CRASH, HANG, FAIL, BROKEN, SKIP, XFAIL, XPASS, PASS.
[[nodiscard]] Verdict worse(Verdict one, Verdict other);

/// FAIL, HANG and CRASH: something is wrong with the kernel under test.
[[nodiscard]] bool blames_kernel(Verdict verdict);

/// How often each verdict was given.
class VerdictCounts {
 public:
    void add(Verdict verdict, std::size_t times = 1) { counts_[index(verdict)] += times; }
    [[nodiscard]] std::size_t of(Verdict verdict) const { return counts_[index(verdict)]; }
    [[nodiscard]] std::size_t total() const;
    /// True where every verdict is SKIP, or there is none.
    [[nodiscard]] bool nothing_ran() const { return of(Verdict::skip) == total(); }
    bool operator==(const VerdictCounts&) const = default;

 private:
    static constexpr std::size_t index(Verdict verdict) { return static_cast<std::size_t>(verdict); }
    std::array<std::size_t, all_verdicts.size()> counts_{};
};

/// What a run says to whoever started it.
struct Outcome {
    int exit_status = 0;
    /// Why, in one sentence without a full stop: "2 FAIL, 1 CRASH", "nothing ran".
    std::string sentence;
};

/// The exit status of `holdfast run`: 1 with any FAIL, HANG or CRASH (with `strict`, also XPASS or SKIP); else 3 with
/// any BROKEN; else 3 where nothing ran (every case was SKIP, or there was none: the surroundings did not let the
/// question be asked); else 0.
[[nodiscard]] Outcome outcome(const VerdictCounts& counts, bool strict);

}  // namespace holdfast
