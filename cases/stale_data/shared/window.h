// Race windows, opened by holding the disk and crossed by readers.
#pragma once

#include <vector>

#include "cases/case.h"
#include "cases/experiment.h"
#include "cases/stale_data/shared/operation.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/file_state.h"

namespace holdfast {

/// A file in some state, and what is under way on it together. Offsets and lengths in bytes, multiples of the sector.
struct Window {
    FileState file{};
    /// Started one by one, each in a thread of its own.
    std::vector<Operation> operations;
};

/// On an aged filesystem: starts the operations while the disk holds all data, and lets the writes go one by one, in the
/// order of submission, against it, and from the middle outwards; before each and at the end, every kind of reader looks
/// at all of the file, and of its clone where it has one. Observes what both oracles find wrong (`stale`, `lost`,
/// `unreadable`); the number of looks is evidence. Ends as SKIP where the filesystem lacks a mode of fallocate(2), the
/// clones, or the RWF_DONTCACHE that it takes.
void look_through(Experiment& experiment, const Window& window);

}  // namespace holdfast
