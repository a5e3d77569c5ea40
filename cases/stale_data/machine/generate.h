// Random sequences, and smaller ones of what failed.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "cases/stale_data/machine/step.h"

namespace holdfast::machine {

/// What the filesystem can do. All units in bytes.
struct Abilities {
    /// Of the smallest direct write; of blocks, which clones are made of; of what collapse and insert move.
    std::uint64_t direct_unit = sector_size;
    std::uint64_t block = 4 * KiB;
    std::uint64_t step = 4 * KiB;
    /// Of fallocate(2), those that move nothing and those that do.
    std::vector<int> modes{0};
    std::vector<int> moving_modes{};
    bool clones = false;
    /// Something is promised of power cuts.
    bool survives_power_cuts = true;
    /// Of direct writes that, where the disk fails them, fail and are seen by no reader; 0 where there are none.
    std::uint64_t failing_unit = 0;
};

/// The sequence of this seed: some dozens of steps.
[[nodiscard]] Steps generate(const Abilities& abilities, std::uint64_t seed);

struct Shrunk {
    Steps steps;
    /// How many sequences were asked about.
    unsigned tries = 0;
};
/// A sequence as small as can be found of the first `length` steps of that of this seed, which `fails` is true for. It asks
/// about `tries` at most.
[[nodiscard]] Shrunk shrink(const Abilities& abilities, std::uint64_t seed, std::size_t length,
                            const std::function<bool(const Steps&)>& fails, unsigned tries);

}  // namespace holdfast::machine
