// A directory for what a boot needs on the host while it lasts.
#pragma once

#include <filesystem>

namespace holdfast {

/// Below TMPDIR, readable by its owner alone, gone with this object.
class TemporaryDirectory {
 public:
    /// Throws SystemFailure.
    TemporaryDirectory();
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
    ~TemporaryDirectory();

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
    std::filesystem::path path_;
};

}  // namespace holdfast
