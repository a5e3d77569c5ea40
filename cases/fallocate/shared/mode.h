// The modes of fallocate(2), as cases about all of them need them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "cases/fallocate/shared/file_model.h"

namespace holdfast::fallocate {

inline constexpr int write_zeroes = 0x80;  // FALLOC_FL_WRITE_ZEROES, younger than our headers

struct Mode {
    std::string_view name;
    /// FALLOC_FL_*.
    int flags;
    /// Carries it out on a model. In bytes.
    void (*apply)(FileModel& model, std::uint64_t offset, std::uint64_t length);

    /// COLLAPSE_RANGE and INSERT_RANGE: whole allocation units (AllocationUnits::cluster) inside the file, nothing else.
    [[nodiscard]] bool moves_data() const;
    /// Afterwards there are blocks for the whole range.
    [[nodiscard]] bool allocates() const;
    /// A range past the end of file moves the end.
    [[nodiscard]] bool extends() const;
    /// The range reads as zeros afterwards.
    [[nodiscard]] bool zeroes() const;
};

/// All of them, each with the flags that it needs.
[[nodiscard]] std::span<const Mode> all_modes();

/// Those that the filesystem at `root` does not answer with EOPNOTSUPP when a small file of its own is asked for them.
/// fallocate.modes says whether it should have more.
[[nodiscard]] std::vector<Mode> supported_modes(const std::filesystem::path& root, std::uint64_t step);

/// Their names, for evidence.
[[nodiscard]] nlohmann::json names_of(std::span<const Mode> modes);

/// How a call ended, by its errno: `good` for 0, else "EFBIG".
[[nodiscard]] std::string outcome_of(int error, std::string_view good = "works");

}  // namespace holdfast::fallocate
