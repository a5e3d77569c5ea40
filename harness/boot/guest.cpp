#include "harness/boot/guest.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixtures/base/child_process.h"
#include "fixtures/base/failure.h"
#include "harness/boot/guest_job.h"

namespace holdfast {
namespace {

namespace fs = std::filesystem;

constexpr int one_second_ms = 1000;

void say(const std::string& text) {
    std::printf("holdfast: %s\n", text.c_str());
    std::fflush(stdout);
}

struct Place {
    const char* type;
    const char* target;
    /// A kernel without it can still run something.
    bool needed;
};
constexpr Place places[] = {
    {"proc", "/proc", true},
    {"sysfs", "/sys", true},
    {"devtmpfs", "/dev", true},
    {"tmpfs", "/tmp", true},
    {"tmpfs", "/run", true},
    {"tracefs", "/sys/kernel/tracing", false},
    {"debugfs", "/sys/kernel/debug", false},
};

// A recipe, say, that came from the host's /tmp lies at the same place here.
bool holds_files_of_host(const Place& place) {
    return std::string_view{place.type} == "tmpfs" && !fs::is_empty(place.target);
}

void mount_places() {
    for (const auto& place : places)
        if (!holds_files_of_host(place) && ::mount("none", place.target, place.type, 0, nullptr) != 0 && place.needed)
            throw SystemFailure(fmt::format("mounting {} on {}", place.type, place.target), errno);
}

// A kernel may have built in what another has as a module: what is missing shows when it is needed.
void load_modules(const GuestJob& job) {
    if (!fs::exists("/lib/modules")) return;
    for (const auto& module : job.modules)
        if (const auto run = run_tool("modprobe", {"-q", module}); !run.ending.success() && !run.output.empty())
            say(fmt::format("modprobe {}: {}", module, run.output));
}

void mount_share(const GuestJob& job) {
    fs::create_directories(guest_share);
    if (::mount(job.share_source.c_str(), guest_share, job.share_type.c_str(), 0, job.share_options.c_str()) != 0)
        throw SystemFailure(
            fmt::format("mounting what is shared with the host ({}; the kernel needs {})", job.share_type,
                        job.share_type == "9p" ? "CONFIG_VIRTIO_PCI, CONFIG_NET_9P_VIRTIO and "
                                                 "CONFIG_9P_FS, built in or as modules (--modules)"
                                               : "CONFIG_HOSTFS"),
            errno);
}

// Whole or not at all: the host reads while the guest writes.
void tell_host(const char* name, const std::string& text) {
    const auto path = fs::path{guest_share} / name;
    const auto draft = path.string() + ".new";
    const Descriptor file{checked(::open(draft.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644), draft)};
    checked(::write(file.get(), text.data(), text.size()), draft);
    checked(::rename(draft.c_str(), path.c_str()), draft);
}

Descriptor open_output(const char* name) {
    const auto path = fs::path{guest_share} / name;
    return Descriptor{
        checked(::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_APPEND | O_CLOEXEC, 0644), path.string())};
}

// Process 1 inherits every process whose parent has ended.
void reap_all_but(pid_t kept) {
    siginfo_t one{};
    while (::waitid(P_ALL, 0, &one, WEXITED | WNOHANG | WNOWAIT) == 0 && one.si_pid != 0 && one.si_pid != kept) {
        ::waitpid(one.si_pid, nullptr, WNOHANG);
        one = {};
    }
}

Ending run_job(const GuestJob& job) {
    const auto output = open_output(share::output);
    const auto progress = open_output(share::progress);
    auto child = ChildProcess::start({.program = guest_program,
                                      .arguments = job.arguments,
                                      .descriptors = {{output.get(), STDOUT_FILENO}, {progress.get(), STDERR_FILENO}}});
    pollfd ended{.fd = child.ended_descriptor(), .events = POLLIN, .revents = 0};
    for (unsigned beat = 0; ::poll(&ended, 1, one_second_ms) == 0; ++beat) {
        tell_host(share::alive, fmt::format("{}\n", beat));
        reap_all_but(child.id());
    }
    return child.wait();
}

void serve() {
    mount_places();
    const auto job = GuestJob::load(guest_job_file);
    load_modules(job);
    mount_share(job);
    tell_host(share::booted, {});
    checked(::chdir("/tmp"), "chdir to /tmp");
    const auto ending = run_job(job);
    tell_host(share::ended, fmt::format("{}\n{}\n", ending.describe(), ending.status.value_or(128)));
    ::umount(guest_share);
}

}  // namespace

void run_guest() {
    if (::getpid() != 1) throw BadInput(fmt::format("{} is what `holdfast boot` runs in its guest", guest_verb));
    bool restart = true;
    try {
        ::setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
        serve();
        restart = GuestJob::load(guest_job_file).restart_to_end;
    } catch (const std::exception& error) {
        say(fmt::format("cannot run in this guest: {}", error.what()));
    }
    ::sync();
    ::reboot(restart ? RB_AUTOBOOT : RB_POWER_OFF);
    for (;;) ::pause();  // the end of process 1 would be a panic
}

}  // namespace holdfast
