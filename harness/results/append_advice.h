// What a run has found out about appends, for people who run databases.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/results/result.h"

namespace holdfast {

/// Filesystems on which appends behave alike, and how: "block (they wait in iomap_dio_rw). To avoid it: ...". Names only
/// remedies that a case of the run has found not to block.
struct AppendAdvice {
    std::vector<std::string> filesystems;
    std::string advice;
};

/// By filesystem, in the order in which they first appear; none where the run has not asked (aio_append.at_eof).
[[nodiscard]] std::vector<AppendAdvice> advise_on_appends(const std::vector<CaseResult>& cases);

}  // namespace holdfast
