// A machine that runs a kernel under test: QEMU, or User Mode Linux itself.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "harness/boot/kernel_image.h"

namespace holdfast {

struct MachineOptions {
    unsigned cpus = 2;
    unsigned memory_mib = 2048;
    /// More kernel parameters, as one would type them.
    std::string parameters{};
};

/// When a guest is taken for hung.
struct Patience {
    /// Without a sign of life for so long; as long it may take to boot.
    std::chrono::seconds silence{120};
    /// Alive, but without a word from the program in it.
    std::chrono::seconds quiet{3600};
};

/// Whether KVM runs guests here: /dev/kvm may be opened and the CPU has the instructions. (Where /dev/kvm is there
/// without these, a guest starts and never gets anywhere.)
[[nodiscard]] bool has_kvm();

/// What a guest runs in.
struct GuestFiles {
    std::filesystem::path root_image;
    /// The directory that host and guest share.
    std::filesystem::path share;
    /// Where the console goes.
    std::filesystem::path console;
};

/// The command line that boots: program and arguments.
struct MachineCommand {
    std::string program;
    std::vector<std::string> arguments;
};
[[nodiscard]] MachineCommand command_for(const KernelImage& kernel, const MachineOptions& options, bool kvm,
                                         const GuestFiles& files);

enum class GuestEnd {
    /// The program in the guest has ended; `status` is its exit status.
    finished,
    panicked,
    /// It gave no sign of life any more, or never any, or its program said nothing any more.
    hung,
    /// The machine ended before the program in it had.
    vanished,
    /// A signal has come for us.
    interrupted
};

struct GuestOutcome {
    GuestEnd end = GuestEnd::vanished;
    /// It got as far as to run the program.
    bool booted = false;
    int status = 0;
    /// The signal that came for us.
    int signal = 0;
    /// Of a panic: its line.
    std::string panic{};
    /// The last lines of the console, and what the machine itself said.
    std::string console{};
};

/// Called a few times a second with what has been written anew to standard output and standard error in the guest.
using GuestWatcher = std::function<void(const std::string& output, const std::string& progress)>;

/// Runs the machine until it ends. Leaves no process behind.
[[nodiscard]] GuestOutcome run_machine(const MachineCommand& command, const GuestFiles& files, Patience patience,
                                       const GuestWatcher& watcher);

/// The line of a panic in a console log; empty where there is none.
[[nodiscard]] std::string find_panic(const std::string& console);

}  // namespace holdfast
