// RLIMIT_FSIZE of this process, for a while.
#pragma once

#include <csignal>
#include <cstdint>

#include <sys/resource.h>

namespace holdfast::fallocate {

/// Sets it, and counts the SIGXFSZ that come with it. One at a time.
class FileSizeLimit {
 public:
    /// Throws SystemFailure.
    explicit FileSizeLimit(std::uint64_t bytes);
    FileSizeLimit(const FileSizeLimit&) = delete;
    FileSizeLimit& operator=(const FileSizeLimit&) = delete;
    ~FileSizeLimit();

    /// How many SIGXFSZ have come since it was set.
    [[nodiscard]] int signals() const;

 private:
    rlimit before_{};
    struct sigaction action_before_ {};
};

}  // namespace holdfast::fallocate
