// fallocate.free_space in a process in which ftruncate(2) to nothing claims to work and does nothing, and
// fallocate.during_append in one in which appends of 1000 bytes do the same. Both must come out as FAIL.
#include <array>

#include <sys/syscall.h>

#include "cases/case.h"
#include "cases/planted/shared/broken_kernel.h"
#include "cases/planted/shared/one_answer.h"

namespace holdfast::cases {

extern const Case fallocate_during_append;
extern const Case fallocate_free_space;

namespace {

const std::array asked{Asked{&fallocate_during_append, "buffered"},
                       Asked{&fallocate_free_space, "not given back by emptied files"}};

void run(Experiment& experiment) {
    answer_call(SYS_ftruncate, 1, 0, 0);
    answer_call(SYS_write, 2, 1000, 0);
    play(experiment, asked);
}

}  // namespace

extern const Case planted_leaked_blocks;
const Case planted_leaked_blocks{
    .name = "planted.leaked_blocks",
    .summary = "plays cases of fallocate on a kernel that does not free blocks and loses appends",
    .method = "A system call filter (seccomp) lets the calls return 0 without being carried out.",
    .run = run,
};

}  // namespace holdfast::cases
