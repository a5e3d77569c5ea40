#include "harness/boot/virtual_machine.h"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/kvm.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fixtures/base/child_process.h"
#include "fixtures/base/failure.h"
#include "harness/boot/guest_job.h"
#include "harness/supervise/signals.h"

namespace holdfast {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds tick{200};
// What a machine may still take once its guest has said that all is done, or has panicked.
constexpr std::chrono::seconds time_to_end{15};
constexpr std::size_t lines_of_console = 40;

// Without random.trust_cpu each mkfs of a machine that has just booted waits for randomness.
std::string parameters_for(const MachineOptions& options, const char* console) {
    return fmt::format("console={} panic=-1 loglevel=5 random.trust_cpu=on mitigations=off rdinit={}{}{} -- {}",
                       console, guest_program, options.parameters.empty() ? "" : " ", options.parameters, guest_verb);
}

std::string text_of(const fs::path& file, std::size_t from = 0) {
    std::ifstream stream{file, std::ios::binary};
    stream.seekg(static_cast<std::streamoff>(from));
    return {std::istreambuf_iterator<char>{stream}, {}};
}

// Serial consoles end lines with "\r\n", and firmware colours them.
std::string last_lines(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream{text};
    for (std::string line; std::getline(stream, line);) {
        std::erase_if(line, [](unsigned char c) { return c != '\t' && (c < ' ' || c == 127); });
        lines.push_back(std::move(line));
    }
    const auto first = lines.size() > lines_of_console ? lines.end() - lines_of_console : lines.begin();
    return fmt::format("{}", fmt::join(first, lines.end(), "\n"));
}

// Follows a file that grows.
class Tail {
 public:
    explicit Tail(fs::path file) : file_(std::move(file)) {}
    std::string read_new() {
        auto text = text_of(file_, size_);
        size_ += text.size();
        return text;
    }

 private:
    fs::path file_;
    std::size_t size_ = 0;
};

class WatchedMachine {
 public:
    WatchedMachine(const MachineCommand& command, const GuestFiles& files, Patience patience,
                   const GuestWatcher& watcher)
        : files_(files),
          patience_(patience),
          watcher_(watcher),
          said_(checked(::memfd_create("machine-output", MFD_CLOEXEC), "memfd_create")),
          child_(start(command)) {}

    GuestOutcome run() {
        GuestOutcome outcome;
        while (!machine_ended(outcome.signal) && outcome.signal == 0 && !time_is_over()) follow();
        child_.signal_group(SIGKILL);
        child_.wait();
        follow();
        return conclude(std::move(outcome));
    }

 private:
    [[nodiscard]] ChildProcess start(const MachineCommand& command) const {
        const auto program = find_tool(command.program);
        return ChildProcess::start({.program = program ? *program : fs::path{command.program},
                                    .arguments = command.arguments,
                                    .output = said_.get()});
    }

    [[nodiscard]] fs::path shared(const char* name) const { return files_.share / name; }

    bool machine_ended(int& signal) {
        pollfd polled[] = {{.fd = child_.ended_descriptor(), .events = POLLIN, .revents = 0},
                           {.fd = signals_.descriptor(), .events = POLLIN, .revents = 0}};
        if (::poll(polled, 2, tick.count()) < 0 && errno != EINTR)
            throw SystemFailure("waiting for the machine", errno);
        signal = signals_.take();
        return polled[0].revents != 0;
    }

    void follow() {
        const auto output = output_.read_new();
        const auto progress = progress_.read_new();
        if (output.empty() && progress.empty()) return;
        last_word_ = Clock::now();
        watcher_(output, progress);
    }

    // Heartbeats alone count: a kernel that is stuck may go on to print.
    bool time_is_over() {
        const auto now = Clock::now();
        if (auto beat = text_of(shared(share::alive)); beat != last_beat_) {
            last_beat_ = std::move(beat);
            last_sign_ = now;
        }
        if (!ending_since_ && (fs::exists(shared(share::ended)) || !find_panic(console()).empty())) ending_since_ = now;
        if (ending_since_) return now - *ending_since_ > time_to_end;
        hung_ = now - last_sign_ > patience_.silence || now - last_word_ > patience_.quiet;
        return hung_;
    }

    // The machine's own words, then the guest's; the console of User Mode Linux is among the former.
    [[nodiscard]] std::string console() const {
        return text_of(fmt::format("/proc/self/fd/{}", said_.get())) + text_of(files_.console);
    }

    GuestOutcome conclude(GuestOutcome outcome) const {
        const auto text = console();
        outcome.booted = fs::exists(shared(share::booted));
        outcome.panic = find_panic(text);
        outcome.console = last_lines(text);
        if (fs::exists(shared(share::ended))) {
            outcome.end = GuestEnd::finished;
            std::istringstream lines{text_of(shared(share::ended))};
            std::string how;
            std::getline(lines, how);
            lines >> outcome.status;
        } else if (outcome.signal != 0) {
            outcome.end = GuestEnd::interrupted;
        } else if (!outcome.panic.empty()) {
            outcome.end = GuestEnd::panicked;
        } else {
            outcome.end = hung_ ? GuestEnd::hung : GuestEnd::vanished;
        }
        return outcome;
    }

    const GuestFiles& files_;
    Patience patience_;
    const GuestWatcher& watcher_;
    EndingSignals signals_;
    Descriptor said_;
    ChildProcess child_;
    Tail output_{shared(share::output)};
    Tail progress_{shared(share::progress)};
    std::string last_beat_{};
    Clock::time_point last_sign_ = Clock::now();
    Clock::time_point last_word_ = last_sign_;
    std::optional<Clock::time_point> ending_since_{};
    bool hung_ = false;
};

}  // namespace

bool has_kvm() {
    const Descriptor kvm{::open("/dev/kvm", O_RDWR | O_CLOEXEC)};
    if (!kvm.valid() || ::ioctl(kvm.get(), KVM_GET_API_VERSION, 0) != KVM_API_VERSION) return false;
    std::ifstream stream{"/proc/cpuinfo"};
    for (std::string line; std::getline(stream, line);)
        if (line.starts_with("flags"))
            return line.find(" vmx") != std::string::npos || line.find(" svm") != std::string::npos;
    return false;
}

MachineCommand command_for(const KernelImage& kernel, const MachineOptions& options, bool kvm,
                           const GuestFiles& files) {
    if (kernel.kind == KernelKind::user_mode) {
        MachineCommand command{
            fs::absolute(kernel.file).string(),
            {fmt::format("mem={}M", options.memory_mib), fmt::format("initrd={}", files.root_image.string()),
             fmt::format("uml_dir={}", files.root_image.parent_path().string()), "con=null",
             fmt::format("con0=null,fd:1"), "con1=null,fd:1"}};
        std::istringstream words{parameters_for(options, "tty0")};
        for (std::string word; words >> word;) command.arguments.push_back(word);
        return command;
    }
    return {"qemu-system-x86_64",
            {"-M", "q35", "-accel", kvm ? "kvm" : "tcg,thread=multi", "-cpu", "max", "-smp",
             std::to_string(options.cpus), "-m", std::to_string(options.memory_mib), "-nodefaults", "-no-user-config",
             "-display", "none", "-no-reboot", "-serial", fmt::format("file:{}", files.console.string()),
             // Without MSI-X: about its table, emulating QEMU now and then ends in an assertion.
             "-device", "virtio-rng-pci,vectors=0", "-fsdev",
             fmt::format("local,path={},security_model=none,id=share", files.share.string()), "-device",
             fmt::format("virtio-9p-pci,fsdev=share,mount_tag={},vectors=0", share_tag), "-kernel",
             kernel.file.string(), "-initrd", files.root_image.string(),
             // A machine that is emulated on a busy host now and then has no timer interrupt in time for the check.
             "-append", "no_timer_check " + parameters_for(options, "ttyS0")}};
}

GuestOutcome run_machine(const MachineCommand& command, const GuestFiles& files, Patience patience,
                         const GuestWatcher& watcher) {
    return WatchedMachine{command, files, patience, watcher}.run();
}

std::string find_panic(const std::string& console) {
    const auto at = console.find("Kernel panic - not syncing");
    return at == std::string::npos ? std::string{} : console.substr(at, console.find_first_of("\r\n", at) - at);
}

}  // namespace holdfast
