// Thirty-two writes of one block in a row, in the ways that cost differently, with what the kernel did counted.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "cases/experiment.h"
#include "fixtures/probe/counters.h"

namespace holdfast::unwritten {

/// What the file is before the writes.
enum class Before { written, preallocated, empty };
/// Through the page cache or past it.
enum class Engine { direct, buffered };
/// When fdatasync(2) is called.
enum class Sync { each, at_end };

struct Work {
    std::string_view name;
    Before before;
    Engine engine;
    Sync sync;
};

/// Writes in one work; each of 4 KiB, or of one block where blocks are larger.
inline constexpr std::uint64_t cost_writes = 32;

inline constexpr std::array works{
    Work{"overwrite, fdatasync each", Before::written, Engine::direct, Sync::each},
    Work{"into unwritten, fdatasync each", Before::preallocated, Engine::direct, Sync::each},
    Work{"into unwritten, fdatasync once", Before::preallocated, Engine::direct, Sync::at_end},
    Work{"buffered into unwritten, fdatasync once", Before::preallocated, Engine::buffered, Sync::at_end},
    Work{"append, fdatasync each", Before::empty, Engine::direct, Sync::each},
};

/// Does every work several times, each time on a new file, and reports for each event "WORK: EVENT": the fewest that one
/// time took, because now and then the kernel's own housekeeping (a periodic commit) adds to one. Reports
/// "preallocation" first: "works" or an errno; without it the works that need it are left out, and so are events that
/// the filesystem does not have.
void observe_costs(Experiment& experiment, std::span<const KernelEvent> events);

}  // namespace holdfast::unwritten
