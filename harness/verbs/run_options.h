// The options of `holdfast run`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "harness/catalogue/catalogue.h"
#include "harness/catalogue/plan.h"

namespace holdfast {

struct RunOptions {
    PlanOptions plan;
    OwnFiles own;
    std::string profile = "mainline";
    std::filesystem::path results;
    std::string format = "text";
    std::filesystem::path junit;
    std::filesystem::path images;
    unsigned jobs = 1;
    std::optional<std::uint64_t> seed;
    std::optional<unsigned> timeout;
    /// Seconds.
    std::optional<unsigned> duration;
    bool full = false;
    bool strict = false;
    /// A file with the steps that a case of random steps is to carry out (holdfast replay), or empty.
    std::filesystem::path replayed;
};

/// Adds them to a verb; parsing fills `options`, which must outlive it.
void add_run_options(CLI::App& verb, RunOptions& options);

}  // namespace holdfast
