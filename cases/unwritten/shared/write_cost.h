// Thirty-two writes of one block in a row, in the ways that cost differently, with what the kernel did counted.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "cases/experiment.h"
#include "fixtures/probe/counters.h"

namespace holdfast::unwritten {

/// What the file is before the writes: of its full size, and written, unwritten, or nothing but a hole; or empty, with
/// its blocks preallocated behind the end of file (KEEP_SIZE), or without any.
enum class Before { written, preallocated, hole, keep_size, empty };
/// Through the page cache or past it.
enum class Engine { direct, buffered };
/// When the data is made durable: by fdatasync(2) after each write, after the last one, or never; or by O_DSYNC.
enum class Sync { each, at_end, none, dsync };

struct Work {
    std::string_view name;
    Before before;
    Engine engine;
    Sync sync;
};

/// Writes in one work; each of 4 KiB, or of one block where blocks are larger.
inline constexpr std::uint64_t cost_writes = 32;

/// What most of the others are compared with.
inline constexpr std::array main_works{
    Work{"overwrite, fdatasync each", Before::written, Engine::direct, Sync::each},
    Work{"into unwritten, fdatasync each", Before::preallocated, Engine::direct, Sync::each},
    Work{"into unwritten, fdatasync once", Before::preallocated, Engine::direct, Sync::at_end},
    Work{"buffered into unwritten, fdatasync once", Before::preallocated, Engine::buffered, Sync::at_end},
    Work{"append, fdatasync each", Before::empty, Engine::direct, Sync::each},
};

/// Does every work several times, each time on a new file, and reports for each event "WORK: EVENT": what most of the
/// times took, because now and then the kernel's own housekeeping (a periodic commit) adds to one, or saves it something;
/// the fewest where none stands out. Reports "preallocation" first: "works" or an errno; without it the works that need it
/// are left out, and so are events that the filesystem does not have.
void observe_costs(Experiment& experiment, std::span<const Work> works, std::span<const KernelEvent> events);

/// The same, and reports for each work "WORK": all that it cost in a line, such as "0 conversions, 32 flushes"; and of
/// the events `alone` also "WORK: EVENT" as above.
void observe_cost_rows(Experiment& experiment, std::span<const Work> works, std::span<const KernelEvent> events,
                       std::span<const KernelEvent> alone);

}  // namespace holdfast::unwritten
