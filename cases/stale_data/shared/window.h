// Race windows, opened by holding the disk and crossed by readers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cases/case.h"
#include "cases/experiment.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/pattern/oracle.h"

namespace holdfast {

/// A file in some state, and direct writes to it that are in flight together. In bytes, multiples of the sector.
struct Window {
    /// The file's data: this much from its beginning, written directly and synced.
    std::uint64_t written = 0;
    /// What fallocate(2) then adds, with this mode.
    struct Allocation {
        int mode = 0;
        Range range;
    };
    std::optional<Allocation> allocated{};
    /// Where ftruncate(2) then moves the end of file.
    std::optional<std::uint64_t> truncated{};
    /// Submitted one by one, each by a thread of its own.
    std::vector<Range> writes;
};

/// On an aged filesystem: submits the writes while the disk holds all data, and lets them go one by one, in the order of
/// the file, against it, and from the middle outwards; before each and at the end, every kind of reader looks at all of
/// the file. Observes what both oracles find wrong (`stale`, `lost`, `unreadable`); the number of looks is evidence.
/// Ends as SKIP where the filesystem cannot preallocate.
void look_through(Experiment& experiment, const Window& window);

}  // namespace holdfast
