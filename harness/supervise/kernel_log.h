// The kernel's log, read from a position on and never cleared.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fixtures/base/descriptor.h"

namespace holdfast {

/// Lines of the kernel itself (not those that programs write into its log) since construction. Where /dev/kmsg cannot
/// be read (a container without the privilege), there are none and `readable` is false.
class KernelLog {
 public:
    KernelLog();

    [[nodiscard]] bool readable() const { return log_.valid(); }
    /// All that came since the last call, without what names another loop device than `device` ("loop3"; empty: all).
    [[nodiscard]] std::vector<std::string> read_new(std::string_view device);

 private:
    Descriptor log_;
};

/// The text of one record of /dev/kmsg ("6,1234,5678,-;text\n KEY=value\n"); empty where the kernel did not write it.
[[nodiscard]] std::string kernel_record_text(std::string_view record);

/// Whether a line of the log says that something is wrong with the kernel: a warning, a bug, an oops, a stall, a
/// filesystem that found itself inconsistent.
[[nodiscard]] bool is_alarm(std::string_view line);

/// Whether a line names a loop device, and none of those is `device`.
[[nodiscard]] bool names_another_loop(std::string_view line, std::string_view device);

/// The taint bits of the kernel, with letters as in Documentation/admin-guide/tainted-kernels.rst.
class KernelTaint {
 public:
    [[nodiscard]] static KernelTaint now();
    /// "W" where a warning came since `before`; empty where nothing is new.
    [[nodiscard]] std::string letters_since(const KernelTaint& before) const;
    [[nodiscard]] static KernelTaint of(unsigned long bits) { return KernelTaint{bits}; }

 private:
    explicit KernelTaint(unsigned long bits) : bits_(bits) {}
    unsigned long bits_;
};

}  // namespace holdfast
