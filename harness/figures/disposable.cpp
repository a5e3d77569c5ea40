// Measures what a disposable filesystem costs, for the README: from its template, beside mount + umount alone, and beside
// mkfs + mount + umount. Prints a table. Rounds are interleaved; medians.
#include "fixtures/filesystem/disposable.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include <fmt/format.h>

#include "fixtures/base/failure.h"

namespace holdfast {
namespace {

constexpr int rounds = 15;

template <typename Work>
double milliseconds(Work work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

void measure(const Recipe& recipe) {
    if (const auto missing = find_missing(recipe.needs); !missing.empty()) {
        fmt::print("| {} | not here: {} | | | |\n", recipe.name, missing.front().what);
        return;
    }
    const auto directory = RunDirectory::in_memory();
    const auto make = [&](const RunDirectory& where) {
        const DisposableFilesystem made{recipe, where, DiskKind::zeroed_file};
    };
    make(directory);
    std::vector<double> from_template;
    std::vector<double> mount_alone;
    std::vector<double> from_mkfs;
    for (int round = 0; round < rounds; ++round) {
        from_template.push_back(milliseconds([&] { make(directory); }));
        DisposableFilesystem mounted{recipe, directory, DiskKind::zeroed_file};
        mount_alone.push_back(milliseconds([&] { mounted.remount(); }));
        from_mkfs.push_back(milliseconds([&] { make(RunDirectory::in_memory()); }));
    }
    fmt::print("| {} | {:.1f} | {:.1f} | {:.2f} | {:.1f} |\n", recipe.name, median(from_template), median(mount_alone),
               median(from_template) / median(mount_alone), median(from_mkfs));
}

}  // namespace
}  // namespace holdfast

int main() {
    try {
        fmt::print("| filesystem | from the template, ms | mount + umount, ms | ratio | mkfs + mount + umount, ms |\n");
        fmt::print("| --- | --- | --- | --- | --- |\n");
        for (const auto& recipe : holdfast::shipped_recipes()) holdfast::measure(recipe);
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 3;
    }
}
