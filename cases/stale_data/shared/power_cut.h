// Which writes a power cut leaves.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "fixtures/disk/held/write_log.h"

namespace holdfast {

/// All that was written by then; what flushes had made certain; that, and the last write; that, and a random part of the
/// others.
enum class Kept { all, certain, last, random };

/// The sequences of those that are left of the first `cut` entries of a log.
[[nodiscard]] std::vector<std::uint64_t> kept_of(const WriteLog& log, std::uint64_t cut, Kept kept,
                                                 std::mt19937_64& random);

}  // namespace holdfast
