// Runs a plan: one process a case, several at once, each bounded in time.
#pragma once

#include <functional>
#include <vector>

#include "harness/supervise/running_case.h"
#include "harness/supervise/signals.h"

namespace holdfast {

/// Told of what happens.
struct Watcher {
    std::function<void(const Planned&)> started;
    std::function<void(const Planned&, const CaseResult&)> finished;
    /// Now and then, with what runs.
    std::function<void(const std::vector<const RunningCase*>&)> ticked;
};

/// Runs all of `plan`, `jobs` at once. Cases whose requirements are missing become SKIP without a process. Ends early on
/// a signal, when all case processes are gone; returns that signal, 0 where all was run.
int supervise(const std::vector<Planned>& plan, unsigned jobs, const CaseSurroundings& surroundings,
              EndingSignals& signals, const Watcher& watcher);

}  // namespace holdfast
