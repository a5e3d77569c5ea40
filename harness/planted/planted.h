// Cases in which something is planted (a stale byte, a hang, a crash), for the tests of the harness itself.
#pragma once

#include <span>

#include "cases/case.h"
#include "fixtures/base/embedded.h"

namespace holdfast {

/// cases/planted/*.cpp.
[[nodiscard]] std::span<const Case* const> planted_cases();

/// cases/planted/*.json.
[[nodiscard]] std::span<const EmbeddedFile> planted_expectations();

}  // namespace holdfast
