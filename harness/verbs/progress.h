// Where a run stands, for whoever waits for it.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "harness/results/text.h"
#include "harness/supervise/running_case.h"

namespace holdfast {

/// On a terminal one line that changes, a few times a second (case n of N, what runs now, elapsed time), with a lasting
/// line for each verdict that needs attention; elsewhere a plain line for each case that is done. Writes to standard
/// error.
class Progress {
 public:
    Progress(std::size_t total, bool terminal, TextStyle style);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void finished(const Planned& planned, const CaseResult& result);
    void ticked(const std::vector<const RunningCase*>& running);
    /// Takes the changing line away.
    void clear();

 private:
    std::size_t total_;
    bool terminal_;
    TextStyle style_;
    std::size_t done_ = 0;
    bool line_shown_ = false;
    using Clock = std::chrono::steady_clock;
    Clock::time_point start_ = Clock::now();
    Clock::time_point next_drawing_ = start_;
};

}  // namespace holdfast
