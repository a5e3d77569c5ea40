// The recorded results of reference kernels.
#pragma once

#include <filesystem>
#include <string>

namespace holdfast {

/// The file results/baselines/NAME.json, below the working directory or above the program, as in a clone. Throws BadInput
/// naming all that there are.
[[nodiscard]] std::filesystem::path find_baseline(const std::string& name);

}  // namespace holdfast
