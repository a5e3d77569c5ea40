// The program from the outside, for system tests.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "fixtures/base/child_process.h"
#include "fixtures/base/failure.h"
#include "harness/results/result_file.h"

namespace holdfast {

/// A directory of the test's own, gone with it.
class Scratch {
 public:
    Scratch() {
        auto name = (std::filesystem::temp_directory_path() / "holdfast-test-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw SystemFailure("mkdtemp", errno);
        path_ = name;
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch() { std::filesystem::remove_all(path_); }

    [[nodiscard]] std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
    std::filesystem::path write(std::string_view name, std::string_view text) const {
        std::ofstream{path_ / name} << text;
        return path_ / name;
    }

 private:
    std::filesystem::path path_;
};

/// Runs the program to its end.
ToolRun holdfast(const std::vector<std::string>& arguments);
/// The same of the one that has planted cases.
ToolRun holdfast_planted(const std::vector<std::string>& arguments);

/// Runs it without any privilege.
ToolRun as_nobody(std::vector<std::string> arguments);

/// Runs one case on one filesystem and gives back its result.
[[nodiscard]] CaseResult run_one(const std::string& name, const std::string& filesystem);

/// The same of the planted case "planted.NAME".
[[nodiscard]] CaseResult planted(const std::string& name, const std::string& filesystem = "ext4");

}  // namespace holdfast
