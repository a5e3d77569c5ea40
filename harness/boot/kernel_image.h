// The kernel to boot: what its file says of itself.
#pragma once

#include <filesystem>
#include <string>

namespace holdfast {

enum class KernelKind {
    /// A bzImage, for a virtual machine.
    machine,
    /// User Mode Linux: a program of the host.
    user_mode
};

struct KernelImage {
    std::filesystem::path file;
    KernelKind kind = KernelKind::machine;
    /// As uname(2) of that kernel will say: "6.1.0-57-amd64".
    std::string release;
};

/// Throws BadInput where the file cannot be read, or is no x86-64 kernel. The layout of a bzImage is that of
/// Documentation/arch/x86/boot.rst.
[[nodiscard]] KernelImage read_kernel_image(const std::filesystem::path& file);

}  // namespace holdfast
