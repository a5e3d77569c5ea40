// A job file of fio(1), with its files moved to a disposable filesystem.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast {

struct MappedJobs {
    /// The job file to give to fio.
    std::string text;
    /// What has become a plain file: from "/dev/sdb" to "dev-sdb".
    std::vector<std::pair<std::string, std::string>> renamed;
};

/// An option of fio that takes the place of what the job file says, in all of its jobs: {"size", "16m"}.
using FioSetting = std::pair<std::string, std::string>;

/// Reads "KEY=VALUE". Throws BadInput.
[[nodiscard]] FioSetting parse_fio_setting(const std::string& text);

/// All files of the jobs come to lie in `directory`: in place of each directory=, and under names without a path in place of
/// filename=. Everything else stays as it is, comments and order included. `name` is that of the file, for messages. Throws
/// BadInput ("NAME:LINE: ...") for what cannot be moved (include, opendir, filename=-) and for what is no job file.
[[nodiscard]] MappedJobs map_jobs(std::string_view text, const std::string& name,
                                  const std::filesystem::path& directory, const std::vector<FioSetting>& settings);

}  // namespace holdfast
