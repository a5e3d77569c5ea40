#include "harness/supervise/process_stacks.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include "fixtures/probe/kernel_stack.h"

namespace holdfast {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& file) {
    std::ifstream stream{file};
    std::string line;
    std::getline(stream, line);
    return line;
}

// The third field of /proc/PID/stat, which follows the name in parentheses.
std::string state_of(const fs::path& thread) {
    const auto stat = first_line(thread / "stat");
    const auto end = stat.rfind(')');
    return end != std::string::npos && end + 2 < stat.size() ? stat.substr(end + 2, 1) : std::string{"?"};
}

nlohmann::json stack_of(const fs::path& thread) {
    if (const auto stack = KernelStack::read(thread / "stack")) return stack->functions;
    return fs::exists(thread) ? "not readable, or running" : "gone";
}

}  // namespace

nlohmann::json stacks_of_group(pid_t group) {
    auto stacks = nlohmann::json::array();
    std::error_code ignored;
    for (const auto& process : fs::directory_iterator{"/proc", ignored}) {
        const auto name = process.path().filename().string();
        pid_t id = 0;
        if (std::from_chars(name.data(), name.data() + name.size(), id).ec != std::errc{}) continue;
        if (::getpgid(id) != group) continue;
        for (const auto& thread : fs::directory_iterator{process.path() / "task", ignored})
            stacks.push_back({{"process", id},
                              {"thread", std::stol(thread.path().filename().string())},
                              {"name", first_line(thread.path() / "comm")},
                              {"state", state_of(thread.path())},
                              {"stack", stack_of(thread.path())}});
    }
    return stacks;
}

}  // namespace holdfast
