// A database allocates its log files in three ways and rewrites them some times.
// Published: posix_fallocate is far faster than writing zeros, and the gain shrinks as rewrites grow.

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cases/case.h"
#include "cases/sources/shared/log_files.h"
#include "fixtures/base/bytes.h"

namespace holdfast::cases {

using namespace holdfast::sources;

namespace {

struct Row {
    LogFiles what;
    nlohmann::json published;
};

// Where on the platter a file comes to lie moves each ratio a little.
bool shrinks(const std::vector<double>& ratios) {
    const auto falls = [](double before, double after) { return after < before - 0.1; };
    return ratios.back() > ratios.front() && std::ranges::adjacent_find(ratios, falls) == ratios.end();
}

struct Size {
    unsigned many;
    std::uint64_t with_five_rewrites;
    std::uint64_t with_ten_rewrites;
    std::string_view scaled;
};
constexpr Size small{
    .many = 8,
    .with_five_rewrites = 4 * MiB,
    .with_ten_rewrites = 2 * MiB,
    .scaled = "8 files in place of 100; in place of 16 MiB files of 4 MiB with 5 rewrites, and of 2 MiB with 10"};
constexpr Size published{.many = 100,
                         .with_five_rewrites = 16 * MiB,
                         .with_ten_rewrites = 16 * MiB,
                         .scaled = "nothing: 1 to 100 files of 16 MiB, as published"};

std::string name_of_row(const LogFiles& what) {
    return what.rewrites == 0 ? "no rewrite: " : fmt::format("{} files, {} rewrites: ", what.files, what.rewrites);
}

void run(Experiment& experiment) {
    const auto& size = experiment.full() ? published : small;
    ModelledDisk disk{experiment, "rotating", size.scaled};
    const auto times = [](const char* classic, const char* fallocate, const char* emulation) {
        return nlohmann::json{{"8 KiB writes", classic}, {"posix_fallocate", fallocate}, {"emulation", emulation}};
    };
    const std::array rows{
        Row{{.files = size.many, .rewrites = 0, .size = 16 * MiB}, times("29.6 s", "2.1 s", "31.7 s")},
        Row{{.files = 1, .rewrites = 1, .size = 16 * MiB}, times("0.63 s", "0.30 s", "0.55 s")},
        Row{{.files = 2, .rewrites = 2, .size = 16 * MiB}, times("1.65 s", "1.04 s", "1.56 s")},
        Row{{.files = 5, .rewrites = 5, .size = size.with_five_rewrites}, times("7.59 s", "6.92 s", "8.11 s")},
        Row{{.files = 10, .rewrites = 10, .size = size.with_ten_rewrites}, times("29.3 s", "28.4 s", "31.3 s")},
    };
    std::vector<double> ratios;
    unsigned wrong_sizes = 0;
    for (const auto& [what, seconds] : rows) {
        const auto name = name_of_row(what);
        const auto classic = cost_of(experiment, disk, what, Allocation::small_writes, wrong_sizes);
        const auto fallocate = cost_of(experiment, disk, what, Allocation::posix_fallocate, wrong_sizes);
        const auto emulation = cost_of(experiment, disk, what, Allocation::emulation, wrong_sizes);
        disk.observe_ratio(name + "posix_fallocate / 8 KiB writes", fallocate, classic, seconds);
        disk.observe_ratio(name + "emulation / 8 KiB writes", emulation, classic, seconds);
        if (what.rewrites > 0) ratios.push_back(fallocate.seconds / classic.seconds);
    }
    experiment.observe("gain of posix_fallocate over 1, 2, 5, 10 rewrites",
                       shrinks(ratios) ? "shrinks" : "does not shrink", {{"ratios", ratios}});
    experiment.observe("size of every file", wrong_sizes == 0 ? "right" : "wrong");
}

}  // namespace

extern const Case sources_s2_log_files;
const Case sources_s2_log_files{
    .name = "sources.s2_log_files",
    .summary = "allocates a database's log files in three ways and rewrites them none to ten times",
    .method =
        "Each file is opened, allocated (writes of 8 KiB, posix_fallocate, or four bytes in each 4 KiB), synced with "
        "fsync and closed; then it is rewritten in writes of 8 KiB with one fdatasync for each pass, on a modelled "
        "SATA disk with a write cache; the time is the device's own. Published (kernel 3.9 and RHEL 5, 16 MiB files, "
        "in seconds, in this order): 100 files, no rewrite 29.6, 2.1, 31.7; 1 file, 1 rewrite 0.63, 0.30, 0.55; 2/2 "
        "1.65, 1.04, 1.56; 5/5 7.59, 6.92, 8.11; 10/10 29.3, 28.4, 31.3.",
    .needs = {{"feature", "fuse"}},
    .disk = DiskNeed::held,
    .only_by_name = true,
    .full = FullSize{.filesystem = 4 * GiB, .memory = 2 * GiB},
    .time_bound = std::chrono::seconds{600},
    .run = run,
};

}  // namespace holdfast::cases
