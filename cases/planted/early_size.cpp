// sources.s5_appends_and_readers on a kernel that moves the size of a file before the data of an append is there. Must come
// out as FAIL.
#include <array>

#include <sys/stat.h>
#include <sys/syscall.h>

#include "cases/case.h"
#include "cases/planted/shared/broken_kernel.h"
#include "cases/planted/shared/one_answer.h"

namespace holdfast::cases {

extern const Case sources_s5_appends_and_readers;

namespace {

constexpr std::array asked{Asked{&sources_s5_appends_and_readers, "size while the write is held"}};

std::optional<std::int64_t> move_size_first(std::span<const __u64, 6> arguments) {
    const int file = static_cast<int>(arguments[0]);
    const auto end = static_cast<off_t>(arguments[2] + arguments[3]);
    struct stat status {};
    if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && end > status.st_size) (void)::ftruncate(file, end);
    return std::nullopt;
}

void run(Experiment& experiment) {
    stand_in_for(SYS_pwrite64, move_size_first);
    play(experiment, asked);
}

}  // namespace

extern const Case planted_early_size;
const Case planted_early_size{
    .name = "planted.early_size",
    .summary = "plays sources.s5_appends_and_readers on a kernel that moves the size before the data is written",
    .method =
        "A system call filter (seccomp) tells of each pwrite(2); one that goes beyond the end of file is let through "
        "after an ftruncate(2) to where it ends.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
