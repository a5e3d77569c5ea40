#include "cases/fallocate/shared/space.h"

#include <cerrno>
#include <span>
#include <vector>

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "fixtures/base/bytes.h"
#include "fixtures/base/failure.h"

namespace holdfast::fallocate {

namespace {

/// How a filler takes a piece: 0 or the errno. A write that ends early has not taken it.
int take(const File& filler, std::uint64_t offset, std::uint64_t length) {
    const int error = filler.fallocate(FALLOC_FL_KEEP_SIZE, offset, length);
    if (error != EOPNOTSUPP) return error;
    const std::vector<std::byte> data(length, std::byte{1});
    const auto written = ::pwrite(filler.descriptor(), data.data(), length, static_cast<off_t>(offset));
    if (written < 0) return errno;
    return static_cast<std::uint64_t>(written) == length ? 0 : ENOSPC;
}

}  // namespace

Space space_of(const File& file) {
    struct statvfs status {};
    checked(::fstatvfs(file.descriptor(), &status), "fstatvfs of " + file.path().string());
    return {.free = status.f_bfree * status.f_frsize, .available = status.f_bavail * status.f_frsize};
}

void fill(const File& filler, std::uint64_t block, std::uint64_t most) {
    std::uint64_t end = 0;
    // Twice: what was being freed meanwhile goes to the second round.
    for (int round = 0; round < 2; ++round) {
        for (std::uint64_t piece = 64 * MiB; piece >= block; piece /= 2) {
            int error = 0;
            while (end < most && (error = take(filler, end, piece)) == 0) end += piece;
            if (end >= most) return;
            if (error != ENOSPC) throw SystemFailure("filling the filesystem", error);
        }
        filler.sync_filesystem();
    }
}

void fill_but(const File& filler, std::uint64_t left, const AllocationUnits& units, std::uint64_t most) {
    const File reserve = File::create(filler.path().string() + "-reserve");
    std::uint64_t taken = 0;
    for (; taken < left; taken += units.step) {
        if (const int error = take(reserve, taken, units.step); error != 0)
            throw SystemFailure("setting space aside", error);
    }
    fill(filler, units.block, most);
    reserve.truncate(0);
    reserve.sync_filesystem();
}

}  // namespace holdfast::fallocate
