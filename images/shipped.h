// The recipes that come with the program.
#pragma once

#include <span>

#include "fixtures/base/embedded.h"

namespace holdfast {

/// images/*.json.
[[nodiscard]] std::span<const EmbeddedFile> shipped_images();

}  // namespace holdfast
