// What a run could leave behind on a machine, for tests that compare before and after.
#pragma once

#include <set>
#include <string>

namespace holdfast {

/// The environment variable that marks this test's processes: other runs may go on on the same machine. Set it before
/// anything is started.
inline constexpr const char* mark_variable = "HOLDFAST_TEST_MARK";

/// Loop devices and processes of ours (of marked processes, and devices whose process is gone), mounts in our namespace.
struct Traces {
    std::set<std::string> loop_devices;
    std::set<std::string> mounts;
    std::set<std::string> processes;

    bool operator==(const Traces&) const = default;
    [[nodiscard]] static Traces now();
    /// For messages: what is here and not in `before`.
    [[nodiscard]] std::string since(const Traces& before) const;
};

/// Waits until what was not there before is gone: the kernel may take a moment to unmount after a kill. True where it
/// went within `seconds`.
[[nodiscard]] bool gone_within(const Traces& before, int seconds);

}  // namespace holdfast
