// What an append check says, in sentences.
#pragma once

#include <string>
#include <vector>

#include "fixtures/io/append_check.h"

namespace holdfast {

struct AppendConclusion {
    /// False where it is not known whether appends block.
    bool could_tell = false;
    /// "Appends block here (waits in iomap_dio_rw): ..."
    std::string answer;
    /// What to do instead; only ways that were measured and did not block. Empty where appends do not block.
    std::string advice;
    /// What else to know: two appends in flight, a network filesystem, what root would add.
    std::vector<std::string> notes;
};

/// `check` must have a result for every way.
[[nodiscard]] AppendConclusion conclude(const AppendCheck& check);

}  // namespace holdfast
