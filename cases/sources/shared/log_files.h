// A database's log files: allocated, synced, and rewritten some times.
#pragma once

#include <cstdint>

#include "cases/sources/shared/allocation.h"
#include "cases/sources/shared/modelled_disk.h"

namespace holdfast::sources {

struct LogFiles {
    unsigned files = 1;
    /// Each in writes of 8 KiB, with one fdatasync at its end.
    unsigned rewrites = 0;
    /// Of one file, in bytes.
    std::uint64_t size = 0;
};

/// What that costs with one way of allocation. Removes the files. `wrong_sizes` counts those that were not of their size.
[[nodiscard]] DeviceCost cost_of(Experiment& experiment, ModelledDisk& disk, const LogFiles& what, Allocation method,
                                 unsigned& wrong_sizes);

}  // namespace holdfast::sources
