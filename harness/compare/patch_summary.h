// What a patch changed, in plain words.
#pragma once

#include <string>

#include "harness/compare/comparison.h"

namespace holdfast {

/// Which submissions got asynchronous, which block now, which still do and where, and whether any reader, crash state,
/// count, fallocate rule or completion got worse. Ends in a newline.
[[nodiscard]] std::string summarize_patch(const Comparison& comparison, const Results& before, const Results& after,
                                          unsigned columns);

}  // namespace holdfast
