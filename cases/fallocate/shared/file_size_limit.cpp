#include "cases/fallocate/shared/file_size_limit.h"

#include <atomic>

#include <unistd.h>

#include "fixtures/base/failure.h"

namespace holdfast::fallocate {

std::uint64_t largest_size(const File& file) {
    std::uint64_t accepted = 0;
    for (std::uint64_t bit = std::uint64_t{1} << 62; bit > 0; bit /= 2)
        if (::ftruncate(file.descriptor(), static_cast<off_t>(accepted + bit)) == 0) accepted += bit;
    file.truncate(0);
    return accepted;
}

namespace {

std::atomic<int> signals_seen = 0;

}  // namespace

FileSizeLimit::FileSizeLimit(std::uint64_t bytes) {
    checked(::getrlimit(RLIMIT_FSIZE, &before_), "getrlimit of RLIMIT_FSIZE");
    const rlimit limit{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    struct sigaction count {};
    count.sa_handler = [](int) { ++signals_seen; };
    signals_seen = 0;
    checked(::sigaction(SIGXFSZ, &count, &action_before_), "sigaction of SIGXFSZ");
    checked(::setrlimit(RLIMIT_FSIZE, &limit), "setrlimit of RLIMIT_FSIZE");
}

FileSizeLimit::~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::sigaction(SIGXFSZ, &action_before_, nullptr);
}

int FileSizeLimit::signals() const { return signals_seen; }

}  // namespace holdfast::fallocate
