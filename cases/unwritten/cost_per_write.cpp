// Counts all that 32 writes cost the filesystem and the disk, in every way in which they are usually made.
// Contract: a write is made durable by a flush after it, always; an overwrite costs no conversion and no commit; and
// nothing costs more than once for each write.

#include <array>

#include "cases/case.h"
#include "cases/unwritten/shared/write_cost.h"

namespace holdfast::cases {

using namespace holdfast::unwritten;

namespace {

constexpr std::array works{
    Work{"overwrite, fdatasync each", Before::written, Engine::direct, Sync::each},
    Work{"overwrite, fdatasync once", Before::written, Engine::direct, Sync::at_end},
    Work{"overwrite, no fdatasync", Before::written, Engine::direct, Sync::none},
    Work{"overwrite, O_DSYNC", Before::written, Engine::direct, Sync::dsync},
    Work{"buffered overwrite, fdatasync each", Before::written, Engine::buffered, Sync::each},
    Work{"buffered overwrite, fdatasync once", Before::written, Engine::buffered, Sync::at_end},
    Work{"buffered overwrite, O_DSYNC", Before::written, Engine::buffered, Sync::dsync},
    Work{"into unwritten, no fdatasync", Before::preallocated, Engine::direct, Sync::none},
    Work{"into unwritten, O_DSYNC", Before::preallocated, Engine::direct, Sync::dsync},
    Work{"buffered into unwritten, fdatasync each", Before::preallocated, Engine::buffered, Sync::each},
    Work{"into a hole, fdatasync each", Before::hole, Engine::direct, Sync::each},
    Work{"into a hole, fdatasync once", Before::hole, Engine::direct, Sync::at_end},
    Work{"into a hole, O_DSYNC", Before::hole, Engine::direct, Sync::dsync},
    Work{"buffered into a hole, fdatasync once", Before::hole, Engine::buffered, Sync::at_end},
    Work{"into KEEP_SIZE, fdatasync each", Before::keep_size, Engine::direct, Sync::each},
    Work{"into KEEP_SIZE, fdatasync once", Before::keep_size, Engine::direct, Sync::at_end},
    Work{"into KEEP_SIZE, O_DSYNC", Before::keep_size, Engine::direct, Sync::dsync},
    Work{"append, fdatasync once", Before::empty, Engine::direct, Sync::at_end},
    Work{"append, no fdatasync", Before::empty, Engine::direct, Sync::none},
    Work{"append, O_DSYNC", Before::empty, Engine::direct, Sync::dsync},
    Work{"buffered append, fdatasync each", Before::empty, Engine::buffered, Sync::each},
    Work{"buffered append, fdatasync once", Before::empty, Engine::buffered, Sync::at_end},
};

void run(Experiment& experiment) {
    observe_cost_rows(
        experiment, works,
        std::array{KernelEvent::conversions, KernelEvent::splits, KernelEvent::commits, KernelEvent::log_forces,
                   KernelEvent::flushes, KernelEvent::writes, KernelEvent::written_bytes},
        std::array{KernelEvent::conversions, KernelEvent::commits, KernelEvent::flushes});
}

}  // namespace

extern const Case unwritten_cost_per_write;
const Case unwritten_cost_per_write{
    .name = "unwritten.cost_per_write",
    .summary =
        "counts conversions, splits, commits, log forces, flushes and writes of 32 writes, in every way to write",
    .method =
        "Each kind of work is done five times on new files of one filesystem, and what most of them took counts: "
        "conversions and splits of unwritten extents, commits of jbd2 or writes of XFS log buffers, forces of the XFS "
        "log, flush requests, and write requests and bytes that the disk got. On a kernel that was looked at every "
        "count is known; on others what must be so on all: no flush too few, no commit for an overwrite, nothing once "
        "more for each write. A flush too few is lost data after a power cut; a conversion, a commit or a log force "
        "more for each write is what makes a database slow.",
    .needs = {{"feature", "tracepoints"}},
    .run = run,
};

}  // namespace holdfast::cases
