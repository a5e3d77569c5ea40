// One case process, from start to result.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "fixtures/base/child_process.h"
#include "fixtures/disk/run_directory.h"
#include "fixtures/probe/kernel_log.h"
#include "harness/catalogue/plan.h"
#include "harness/report/conclude.h"
#include "harness/report/report.h"

namespace holdfast {

/// What all case processes of a run have in common.
struct CaseSurroundings {
    const RunDirectory& directory;
    const Expectations& expectations;
    const Profile& profile;
    std::uint64_t seed;
    /// How long cases that work in rounds go on.
    std::optional<std::chrono::seconds> duration{};
    /// Published workloads are to be as large as they were.
    bool full = false;
    /// A file with the steps that a case of random steps is to carry out; empty where it is to choose.
    std::filesystem::path replayed{};
    /// In place of the cases' own time bounds.
    std::optional<std::chrono::seconds> time_bound;
    /// For the case processes and for the command that does it again.
    std::vector<std::string> recipe_arguments;
    std::vector<std::string> run_arguments;
};

class RunningCase {
 public:
    using Clock = std::chrono::steady_clock;

    /// Starts the process. Throws Failure. `surroundings` must outlive it.
    RunningCase(const Planned& planned, const CaseSurroundings& surroundings);

    [[nodiscard]] const Planned& planned() const { return planned_; }
    [[nodiscard]] double seconds() const;
    /// Becomes readable when there is something to `read_report`.
    [[nodiscard]] int report_descriptor() const { return report_pipe_.get(); }
    /// Becomes readable when it has ended.
    [[nodiscard]] int ended_descriptor() const { return child_.ended_descriptor(); }
    /// When `pass_deadline` is due.
    [[nodiscard]] Clock::time_point deadline() const { return deadline_; }

    /// Takes in what the process has told. False where it has closed its end.
    bool read_report();
    /// First time: takes the kernel stacks and kills the process. After that: it does not die, and is given up.
    void pass_deadline();
    /// Kills the process, as far as it can be killed.
    void end_now();
    /// True where the process cannot be killed (its threads wait in the kernel).
    [[nodiscard]] bool given_up() const { return given_up_; }
    /// The result, once it has ended or was given up.
    [[nodiscard]] CaseResult finish();

 private:
    [[nodiscard]] Command command() const;
    [[nodiscard]] std::string output() const;
    [[nodiscard]] std::string replay_command() const;

    Planned planned_;
    const CaseSurroundings& surroundings_;
    Clock::time_point start_ = Clock::now();
    std::chrono::seconds time_bound_;
    Clock::time_point deadline_;
    KernelLog log_;
    KernelTaint taint_ = KernelTaint::now();
    Descriptor output_;
    Descriptor report_pipe_;
    Descriptor report_pipe_end_;
    ChildProcess child_;
    std::string unread_;
    CaseReport report_;
    std::optional<std::string> unreadable_report_;
    std::optional<nlohmann::json> stacks_;
    bool given_up_ = false;
};

}  // namespace holdfast
