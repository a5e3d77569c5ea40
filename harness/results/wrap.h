// Wrapping text into lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

/// Breaks at spaces into lines of up to `width` characters (code points of UTF-8); a longer word has a line of its own.
/// A no-break space ('\1') never ends a line, and comes out as a space.
[[nodiscard]] std::vector<std::string> wrap(std::string_view text, std::size_t width);

}  // namespace holdfast
