// Of the modules of a kernel, those that a guest needs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace holdfast {

/// The directory with the modules of kernel `release` below `given`, which is that directory itself (.../lib/modules/VERSION)
/// or the root of an unpacked package or of `make modules_install`. Throws BadInput where there is none.
[[nodiscard]] std::filesystem::path find_module_tree(const std::filesystem::path& given, const std::string& release);

/// The same beside a kernel image: of /boot/vmlinuz-VERSION below /lib/modules, also in an unpacked package. Nothing
/// where there is none.
[[nodiscard]] std::optional<std::filesystem::path> find_module_tree_beside(const std::filesystem::path& image,
                                                                           const std::string& release);

/// Makes `destination`/lib/modules/RELEASE with the modules of these names that there are, all that they depend on, and
/// the indexes that modprobe(8) reads. `tree` needs no indexes: an unpacked package has none.
/// Throws Failure where depmod(8) or modprobe(8) fails.
void copy_modules(const std::filesystem::path& tree, const std::string& release, const std::vector<std::string>& names,
                  const std::filesystem::path& destination);

}  // namespace holdfast
