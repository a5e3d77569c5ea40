#include "harness/compare/baseline.h"

#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fixtures/base/child_process.h"
#include "fixtures/base/failure.h"

namespace holdfast {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> places() {
    std::vector<fs::path> places{fs::current_path() / "results/baselines"};
    std::error_code error;
    auto above = fs::canonical(running_program(), error);
    while (!error && above.has_relative_path()) {
        above = above.parent_path();
        places.push_back(above / "results/baselines");
    }
    return places;
}

}  // namespace

fs::path find_baseline(const std::string& name) {
    std::set<std::string> known;
    for (const auto& place : places()) {
        if (!fs::is_directory(place)) continue;
        for (const auto& entry : fs::directory_iterator{place}) {
            if (entry.path().extension() != ".json") continue;
            if (entry.path().stem() == name) return entry.path();
            known.insert(entry.path().stem().string());
        }
    }
    throw BadInput(known.empty() ? "no baselines: there is no results/baselines here or above the program"
                                 : fmt::format("no baseline \"{}\"; there are: {}", name, fmt::join(known, ", ")));
}

}  // namespace holdfast
