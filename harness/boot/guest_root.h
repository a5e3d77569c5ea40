// The recipe of the root image.
#pragma once

#include <span>

#include "fixtures/base/embedded.h"

namespace holdfast {

/// images/guest/root.json.
[[nodiscard]] std::span<const EmbeddedFile> shipped_guest_root();

}  // namespace holdfast
