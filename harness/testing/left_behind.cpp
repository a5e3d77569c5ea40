#include "harness/testing/left_behind.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "fixtures/disk/loop_device.h"

namespace holdfast {
namespace {

namespace fs = std::filesystem;

bool is_marked(const fs::path& process) {
    const char* mark = std::getenv(mark_variable);
    std::ifstream file{process / "environ"};
    std::string variable;
    while (std::getline(file, variable, '\0'))
        if (mark != nullptr && variable == fmt::format("{}={}", mark_variable, mark)) return true;
    return false;
}

std::set<std::string> our_loop_devices() {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator{"/sys/block"}) {
        const auto name = entry.path().filename().string();
        if (!name.starts_with("loop")) continue;
        const auto owner = loop_device_owner("/dev/" + name);
        const auto process = fs::path{"/proc"} / std::to_string(owner.value_or(0));
        if (owner && (!fs::exists(process) || is_marked(process))) found.insert(name);
    }
    return found;
}

std::set<std::string> our_mounts() {
    std::set<std::string> found;
    std::ifstream file{"/proc/mounts"};
    std::string line;
    while (std::getline(file, line)) found.insert(line);
    return found;
}

std::set<std::string> our_processes() {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator{"/proc"}) {
        std::ifstream file{entry.path() / "comm"};
        std::string name;
        if (std::getline(file, name) && is_marked(entry.path()) &&
            entry.path() != fs::path{"/proc"} / std::to_string(::getpid()))
            found.insert(fmt::format("{} {}", name, entry.path().filename().string()));
    }
    return found;
}

void add_difference(std::string& text, const std::set<std::string>& now, const std::set<std::string>& before) {
    for (const auto& one : now)
        if (!before.contains(one)) text += "\n  " + one;
}

}  // namespace

Traces Traces::now() { return {our_loop_devices(), our_mounts(), our_processes()}; }

std::string Traces::since(const Traces& before) const {
    std::string text;
    add_difference(text, loop_devices, before.loop_devices);
    add_difference(text, mounts, before.mounts);
    add_difference(text, processes, before.processes);
    return text;
}

bool gone_within(const Traces& before, int seconds) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{seconds};
    while (!Traces::now().since(before).empty()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
    }
    return true;
}

}  // namespace holdfast
