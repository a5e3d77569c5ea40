#include "harness/results/machine.h"

#include <array>
#include <cctype>
#include <string_view>

#include <sched.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "fixtures/base/child_process.h"
#include "fixtures/base/failure.h"

namespace holdfast {
namespace {

// Tools whose version decides what a filesystem looks like or what a checker finds, and the argument that asks for it.
struct Tool {
    const char* name;
    const char* argument;
};
constexpr std::array tools{Tool{"mkfs.ext4", "-V"}, Tool{"mkfs.xfs", "-V"}, Tool{"mkfs.btrfs", "--version"},
                           Tool{"fio", "--version"}};
constexpr std::chrono::seconds bound{10};

unsigned count_cpus() {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    if (::sched_getaffinity(0, sizeof cpus, &cpus) == 0) return static_cast<unsigned>(CPU_COUNT(&cpus));
    return static_cast<unsigned>(::sysconf(_SC_NPROCESSORS_ONLN));  // more CPUs than the set has room for
}

std::uint64_t count_memory() {
    struct sysinfo info {};
    checked(::sysinfo(&info), "sysinfo");
    return std::uint64_t{info.totalram} * info.mem_unit;
}

}  // namespace

std::string find_version(std::string_view output) {
    std::size_t begin = 0;
    while (begin < output.size()) {
        const auto end = std::min(output.find_first_of(" \t\n,()", begin), output.size());
        auto word = output.substr(begin, end - begin);
        if (const auto dash = word.find('-'); dash != std::string_view::npos && dash + 1 < word.size())
            if (std::isdigit(static_cast<unsigned char>(word[0])) == 0) word.remove_prefix(dash + 1);  // fio-3.33
        if (word.starts_with('v')) word.remove_prefix(1);
        if (!word.empty() && std::isdigit(static_cast<unsigned char>(word[0])) != 0 &&
            word.find('.') != std::string_view::npos)
            return std::string{word};
        begin = end + 1;
    }
    return {};
}

MachineInfo describe_machine() {
    utsname name{};
    checked(::uname(&name), "uname");
    MachineInfo machine{.kernel_release = name.release,
                        .kernel_version = name.version,
                        .cpus = count_cpus(),
                        .memory_bytes = count_memory(),
                        .tools = {}};
    for (const auto& tool : tools) {
        if (!find_tool(tool.name)) continue;
        auto version = find_version(run_tool(tool.name, {tool.argument}, bound).output);
        if (!version.empty()) machine.tools.emplace(tool.name, std::move(version));
    }
    return machine;
}

}  // namespace holdfast
