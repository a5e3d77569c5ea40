// The expectations and profiles that come with the program.
#pragma once

#include <span>

#include "fixtures/base/embedded.h"

namespace holdfast {

/// cases/FAMILY/expectations.json.
[[nodiscard]] std::span<const EmbeddedFile> shipped_expectations();

/// cases/profiles/*.json.
[[nodiscard]] std::span<const EmbeddedFile> shipped_profiles();

}  // namespace holdfast
