// Booting a kernel under test, and running the program there.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/boot/virtual_machine.h"

namespace holdfast {

struct BootOptions {
    std::filesystem::path kernel;
    /// Where its modules are; empty: those that lie beside the image, if there are any.
    std::filesystem::path modules{};
    /// More files of the host for the root image, with the libraries that they need.
    std::vector<std::filesystem::path> extra{};
    MachineOptions machine{};
    /// KVM or software emulation; has_kvm() decides where it is left out.
    std::optional<bool> kvm{};
    Patience patience{};
    /// Where the console log is kept; empty: nowhere.
    std::filesystem::path console{};

    /// Everything takes about ten times as long.
    [[nodiscard]] bool emulated() const { return !kvm.value_or(has_kvm()); }
};

/// What the program is to do in the guest.
struct GuestTask {
    std::vector<std::string> arguments;
    /// Files that the arguments name; they are at the same places in the guest.
    std::vector<std::filesystem::path> inputs{};
};

/// Boots and runs the program there. Its result file (guest_results) is copied to `results`, however the guest ended,
/// if there is one. Throws BadInput for a kernel, modules or files that cannot be used, Failure where the machine cannot
/// be started.
[[nodiscard]] GuestOutcome boot(const BootOptions& options, const GuestTask& task, const std::filesystem::path& results,
                                const GuestWatcher& watcher);

/// The place of the result file in the guest, for the arguments.
[[nodiscard]] std::filesystem::path guest_results();

}  // namespace holdfast
