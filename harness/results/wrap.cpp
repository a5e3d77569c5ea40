#include "harness/results/wrap.h"

#include <algorithm>

namespace holdfast {
namespace {

std::size_t count_characters(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
        return (static_cast<unsigned char>(byte) & 0xc0U) != 0x80U;  // all but continuation bytes
    }));
}

}  // namespace

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const auto end = std::min(text.find(' '), text.size());
        const auto word = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (word.empty()) continue;
        if (!lines.empty() && count_characters(lines.back()) + 1 + count_characters(word) <= width)
            lines.back().append(" ").append(word);
        else
            lines.emplace_back(word);
    }
    for (auto& line : lines) std::replace(line.begin(), line.end(), '\1', ' ');
    return lines;
}

}  // namespace holdfast
