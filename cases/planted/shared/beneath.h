// Finding and changing what is on a disk, behind the back of the filesystem on it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "fixtures/base/failure.h"
#include "fixtures/disk/disk.h"
#include "fixtures/pattern/sector.h"

namespace holdfast {

using WholeSector = std::span<const std::byte, sector_size>;

/// Byte offsets in the image of all sectors for which `wanted` is true.
template <typename Wanted>
std::vector<std::uint64_t> find_sectors(const Disk& disk, Wanted wanted) {
    std::vector<std::byte> buffer(MiB);
    std::vector<std::uint64_t> found;
    for (std::uint64_t at = 0; at < disk.size(); at += buffer.size()) {
        const auto part = std::span{buffer}.first(std::min<std::uint64_t>(buffer.size(), disk.size() - at));
        disk.read_medium(at, part);
        for (std::size_t i = 0; i < part.size(); i += sector_size)
            if (wanted(part.subspan(i).first<sector_size>())) found.push_back(at + i);
    }
    return found;
}

/// Of all sectors that say that they are `data`. Throws Failure where there is none.
[[nodiscard]] inline std::vector<std::uint64_t> find_data(const Disk& disk, const Data& data) {
    auto found = find_sectors(disk, [&](WholeSector sector) { return is_data(sector, data.tag, data.offset); });
    if (found.empty()) throw Failure(fmt::format("the image has no sector with {}", describe(data)));
    return found;
}

/// Of all sectors in which `text` occurs. Throws Failure where there is none.
[[nodiscard]] inline std::vector<std::uint64_t> find_text(const Disk& disk, std::string_view text) {
    auto found = find_sectors(disk, [&](WholeSector sector) {
        return std::string_view{reinterpret_cast<const char*>(sector.data()), sector.size()}.find(text) !=
               std::string_view::npos;
    });
    if (found.empty()) throw Failure(fmt::format("the image has no sector with the text {}", text));
    return found;
}

/// Overwrites the image at each of `offsets`. What the kernel has of it in a cache stays as it was.
inline void overwrite_beneath(Disk& disk, const std::vector<std::uint64_t>& offsets, std::span<const std::byte> bytes) {
    for (const auto offset : offsets) disk.write_medium(offset, bytes);
}

}  // namespace holdfast
