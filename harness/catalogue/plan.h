// Which cases run on which filesystems.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/catalogue/catalogue.h"
#include "harness/results/result.h"

namespace holdfast {

/// One entry of the matrix.
struct Planned {
    const Case* one;
    const Recipe* recipe;
    /// From 1, with --repeat.
    unsigned repetition = 1;

    /// "aio_append.at_eof/ext4", as GoogleTest names it.
    [[nodiscard]] std::string name() const { return std::string{one->name} + "/" + recipe->name; }
};

struct PlanOptions {
    /// As for --gtest_filter; a pattern without '/' is about cases, on every filesystem.
    std::string filter = "*";
    /// "default" or "extended".
    std::string matrix = "default";
    /// In place of the matrix, each once; empty: the matrix, or the user's own recipes where there are some.
    std::vector<std::string> filesystems{};
    /// Also cases that run only by name.
    bool every_case = false;
    unsigned repeat = 1;
    std::optional<Shard> shard{};
};

/// Where the patterns to leave out begin: the place of the '-'. A '-' within a name ("ext3-barrier") is none: GoogleTest
/// takes every first one for it, so a filter for GoogleTest has to have those replaced (filter_for_gtest).
[[nodiscard]] std::size_t find_exclusions(std::string_view filter);

/// The filter with '?' for every '-' that belongs to a name.
[[nodiscard]] std::string filter_for_gtest(std::string_view filter);

/// True where `name` ("family.case/filesystem") matches a filter of GoogleTest's form: patterns of '*' and '?'
/// separated by ':', and after a '-' those that are left out.
[[nodiscard]] bool matches_filter(std::string_view filter, std::string_view name);

/// Filesystem after filesystem within a case. The result points into `catalogue`. Throws BadInput for a filesystem or a
/// matrix there is not, and where nothing is selected.
[[nodiscard]] std::vector<Planned> make_plan(const Catalogue& catalogue, const PlanOptions& options);

/// What GTEST_SHARD_INDEX and GTEST_TOTAL_SHARDS say. Throws BadInput where they make no sense.
[[nodiscard]] std::optional<Shard> shard_from_environment();

}  // namespace holdfast
