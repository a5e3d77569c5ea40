// Cases of fallocate in a process in which PUNCH_HOLE claims to work and does nothing. Each must come out as FAIL.
#include <array>

#include <linux/falloc.h>
#include <sys/syscall.h>

#include "cases/case.h"
#include "cases/planted/shared/broken_kernel.h"
#include "cases/planted/shared/one_answer.h"

namespace holdfast::cases {

extern const Case fallocate_content_model;
extern const Case fallocate_descriptors;
extern const Case fallocate_error_order;
extern const Case fallocate_extent_tree;
extern const Case fallocate_interrupted;
extern const Case fallocate_limits;
extern const Case fallocate_metadata;
extern const Case fallocate_seek_and_map;
extern const Case fallocate_survives_power_cut;
extern const Case fallocate_swap_file;
extern const Case fallocate_unaligned;

namespace {

const std::array asked{
    Asked{&fallocate_content_model, "files"},
    Asked{&fallocate_descriptors, "O_APPEND"},
    Asked{&fallocate_error_order, "append-only file before past the largest offset"},
    Asked{&fallocate_extent_tree, "files"},
    Asked{&fallocate_interrupted, "under a storm of signals"},
    Asked{&fallocate_limits, "across large offsets"},
    Asked{&fallocate_metadata, "mtime"},
    Asked{&fallocate_seek_and_map, "mapping"},
    Asked{&fallocate_survives_power_cut, "after fsync"},
    Asked{&fallocate_swap_file, "while it is swapped to"},
    Asked{&fallocate_unaligned, "files"},
};

void run(Experiment& experiment) {
    answer_call(SYS_fallocate, 1, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0);
    play(experiment, asked);
}

}  // namespace

extern const Case planted_ignored_punch;
const Case planted_ignored_punch{
    .name = "planted.ignored_punch",
    .summary = "plays cases of fallocate on a kernel that only claims to punch holes",
    .method = "A system call filter (seccomp) lets fallocate(2) of that mode return 0 without being carried out.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
