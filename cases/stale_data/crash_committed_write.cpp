// Cuts the power while blocks of direct writes in flight are committed, and their data is not there yet.
// Contract: after a power cut at any moment, a reader sees zeros or data written there, and all that a sync promised.
#include <list>

#include <sys/syscall.h>

#include "cases/stale_data/shared/crash.h"
#include "fixtures/io/blocking.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    CrashTest test{experiment};
    auto& append = test.create();
    auto& hole = test.create();
    auto& preallocated = test.create();
    auto& buffered = test.create();
    auto& delayed = test.create();
    auto& other = test.create();
    buffered.write_direct({0, 16 * KiB});
    buffered.fsync();
    append.write_direct({0, 16 * KiB});
    append.fsync();
    hole.write_direct({0, 16 * KiB});
    hole.truncate(64 * KiB);
    hole.fsync();
    delayed.write_direct({0, 16 * KiB});
    delayed.truncate(64 * KiB);
    delayed.fsync();
    preallocated.write_direct({0, 16 * KiB});
    const bool can_preallocate = preallocated.allocate(0, {16 * KiB, 64 * KiB});
    preallocated.fsync();
    other.write_direct({0, 4 * KiB});
    {
        std::list<WatchedCall> calls;
        const auto hold = test.disk().hold(RequestFilter::data_writes());
        const auto start = [&](long number, auto call) {
            const auto& started = calls.emplace_back(number, [call] { return call(), 0L; });
            (void)wait_for_return_or_block(started, test.disk());
        };
        start(SYS_pwrite64, [&] { append.write_direct({16 * KiB, 32 * KiB}); });
        start(SYS_pwrite64, [&] { hole.write_direct({32 * KiB, 48 * KiB}); });
        if (can_preallocate) start(SYS_pwrite64, [&] { preallocated.write_direct({32 * KiB, 48 * KiB}); });
        buffered.write_buffered({16 * KiB, 32 * KiB});
        delayed.write_buffered({32 * KiB, 48 * KiB});
        start(SYS_fdatasync, [&] { delayed.fdatasync(); });
        start(SYS_fsync, [&] { other.fsync(); });
    }
    for (auto* file : {&append, &hole, &preallocated, &buffered}) file->fdatasync();
    test.cut_power();
}

}  // namespace

extern const Case stale_data_crash_committed_write;
const Case stale_data_crash_committed_write{
    .name = "stale_data.crash_committed_write",
    .summary =
        "cuts the power when blocks of direct writes in flight are committed and their data has not reached the "
        "disk",
    .method =
        "On an aged disk on which every sector says where it came from, direct writes behind the end of file, into a "
        "hole and into preallocated blocks, and the writeback of a delayed allocation in a hole, are in flight while "
        "the disk holds their data, and an fsync of another file commits whatever they have changed; then they are "
        "let go, while the disk keeps a log of all writes and flushes. Then, at many points of that log, a disk is "
        "made that has what was written up to there, or only what was promised, or that lost other parts of what no "
        "flush had covered; each is mounted, so that the filesystem recovers, is read and checked by fsck. Readers "
        "must find zeros or data written at that offset, and what a sync had promised by then.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
