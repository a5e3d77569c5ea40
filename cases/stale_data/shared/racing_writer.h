// A writer and the readers that race with it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cases/stale_data/shared/judged_read.h"
#include "fixtures/disk/disk.h"
#include "fixtures/io/aio.h"

namespace holdfast {

/// Writes that are submitted with one io_submit(2) and waited for together.
struct Batch {
    std::vector<Range> writes;
    /// The disk holds these writes until readers have looked: they are inside the race window, whatever the timing.
    bool held = false;
};

/// One file's race: what is written into it, and in what order.
struct Race {
    FileContent& content;
    std::filesystem::path path;
    std::uint32_t generation = 1;
    std::vector<Batch> batches;
};

struct RaceResult {
    Findings findings;
    std::uint64_t reads = 0;
    /// Of these, with a write to the same range in flight.
    std::uint64_t reads_in_window = 0;

    void merge(const RaceResult& other);
};

/// Submits the batches one after the other while a direct, two buffered and a mapped reader look at what is being written.
/// The file must exist. All writes are direct. Throws Failure where a write fails.
[[nodiscard]] RaceResult run_race(Disk& disk, const Race& race, std::uint64_t seed);

}  // namespace holdfast
