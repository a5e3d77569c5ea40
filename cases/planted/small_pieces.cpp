// sources.s0b_object_writes on a kernel that fills holes in small pieces. Must come out as FAIL.
#include <algorithm>
#include <array>

#include <sys/stat.h>
#include <sys/syscall.h>

#include "cases/case.h"
#include "cases/planted/shared/broken_kernel.h"
#include "cases/planted/shared/one_answer.h"
#include "fixtures/base/bytes.h"

namespace holdfast::cases {

extern const Case sources_s0b_object_writes;

namespace {

constexpr std::array asked{Asked{&sources_s0b_object_writes, "first write, sparse / allocated"}};

constexpr std::uint64_t piece = 64 * KiB;

bool has_holes(int file) {
    struct stat status {};
    return ::fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
           status.st_blocks * static_cast<off_t>(sector_size) < status.st_size;
}

// Each with all that O_SYNC asks for.
std::optional<std::int64_t> write_in_pieces(std::span<const __u64, 6> arguments) {
    const int file = static_cast<int>(arguments[0]);
    const std::uint64_t length = arguments[2];
    if (length <= piece || !has_holes(file)) return std::nullopt;
    const auto* bytes = reinterpret_cast<const std::byte*>(arguments[1]);
    for (std::uint64_t done = 0; done < length; done += piece) {
        const auto part = std::min(piece, length - done);
        if (::pwrite(file, bytes + done, part, static_cast<off_t>(arguments[3] + done)) < 0) return std::nullopt;
    }
    return static_cast<std::int64_t>(length);
}

void run(Experiment& experiment) {
    stand_in_for(SYS_pwrite64, write_in_pieces);
    play(experiment, asked);
}

}  // namespace

extern const Case planted_small_pieces;
const Case planted_small_pieces{
    .name = "planted.small_pieces",
    .summary = "plays sources.s0b_object_writes on a kernel that fills holes in small pieces",
    .method =
        "A system call filter (seccomp) tells of each pwrite(2); what goes into a file with holes is written in "
        "pieces of 64 KiB in its place.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
