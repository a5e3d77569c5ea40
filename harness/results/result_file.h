// The result file while it grows, and reading it.
#pragma once

#include <chrono>
#include <filesystem>
#include <span>
#include <string>

#include "harness/results/result.h"

namespace holdfast {

/// Writes a result file. Whenever the run is killed, the file is one complete JSON object with the cases that were
/// added: every version of it is written aside, where possible without a name, and renamed into place.
/// Writing may take a second and a twentieth of the run, no more, so that after many thousands of cases the latest few
/// may wait for the next version. Not safe for use by several threads at once.
class ResultFile {
 public:
    /// Writes the first version, without cases. Throws BadInput where the file cannot be made: its directory does not
    /// exist or may not be written to, or the path is something else than a file.
    ResultFile(const std::filesystem::path& path, RunInfo run, MachineInfo machine);

    /// Throws SystemFailure where the file cannot be written (a full disk).
    void add(const CaseResult& result);
    /// Writes all that was added and makes it durable (fsync). To be called on every end but SIGKILL; may be repeated.
    void finish();
    /// The same with the cases in this order, rather than in the one in which they ended. They must be those that were
    /// added.
    void finish(std::span<const CaseResult> in_order);

 private:
    void append(const CaseResult& result);
    void write(bool durable);

    std::filesystem::path path_;
    RunInfo run_;
    MachineInfo machine_;
    std::chrono::steady_clock::time_point start_;
    /// The cases so far, each as JSON, with commas between.
    std::string cases_{};
    VerdictCounts summary_{};
    std::chrono::steady_clock::duration spent_writing_{};
};

/// Writes a whole result file at once, in the form in which a run leaves it. Throws SystemFailure.
void write_result_file(const std::filesystem::path& path, const Results& results);

/// Throws BadInput naming file, line and field.
[[nodiscard]] Results read_result_file(const std::filesystem::path& path);

}  // namespace holdfast
