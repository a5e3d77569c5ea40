// How large a file can be: its largest size, and RLIMIT_FSIZE of this process, for a while.
#pragma once

#include <csignal>
#include <cstdint>

#include <sys/resource.h>

#include "fixtures/io/file.h"

namespace holdfast::fallocate {

/// The largest size that ftruncate(2) accepts, in bytes. Leaves the file empty. Throws SystemFailure.
[[nodiscard]] std::uint64_t largest_size(const File& file);

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
