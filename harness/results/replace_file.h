// Replacing a file as a whole.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string_view>

namespace holdfast {

/// Puts a file with these parts, one after the other, in the place of `path`: whoever opens it, and whatever kills this
/// process, there is the old file or the new one. It is written without a name where the filesystem can (O_TMPFILE), so
/// that a killed process leaves nothing beside it. With `durable`, it is on the disk on return (fsync(2)).
/// Throws SystemFailure.
void replace_file(const std::filesystem::path& path, std::initializer_list<std::string_view> parts, bool durable);

}  // namespace holdfast
