// What a run gives to whoever started it: the report on standard output, the result file's place, JUnit XML.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string_view>
#include <vector>

#include "harness/catalogue/plan.h"
#include "harness/results/text.h"
#include "harness/verbs/run_options.h"

namespace holdfast {

/// For what is written to this descriptor.
[[nodiscard]] TextStyle style_of(int descriptor);

/// Where the result file goes: where --results says, else results/RUN-ID.json, in a directory that is made where it is
/// not there. Throws BadInput.
[[nodiscard]] std::filesystem::path result_path(const RunOptions& options, const std::string& run_id);

/// Cases end in any order; people and programs read them in the order of the plan.
void sort_like(const std::vector<Planned>& plan, std::vector<CaseResult>& cases);

/// What of the plan has no result: BROKEN, "did not run: " and `why`.
[[nodiscard]] std::vector<CaseResult> find_not_run(const std::vector<Planned>& plan, const Results& results,
                                                   std::string_view why);

/// The report of one run.
class RunOutput {
 public:
    /// Opens what is written later, so that a path that cannot be written costs no run. Throws BadInput.
    explicit RunOutput(const RunOptions& options);

    /// Prints the results in the format of the options, and writes JUnit XML. `file` is where the results are.
    void report(const Results& results, const std::filesystem::path& file);

 private:
    const RunOptions& options_;
    std::unique_ptr<std::ofstream> junit_;
};

}  // namespace holdfast
