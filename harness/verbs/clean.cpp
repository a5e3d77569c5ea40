// holdfast clean: what a killed run of ours could have left. Normally nothing.
#include <csignal>
#include <filesystem>
#include <memory>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "fixtures/base/failure.h"
#include "fixtures/disk/loop_device.h"
#include "harness/verbs/verb.h"

namespace holdfast {
namespace {

struct Left {
    std::string path;
    pid_t owner;
    bool alive;
};

std::vector<Left> find_loop_devices() {
    std::vector<Left> left;
    for (const auto& entry : std::filesystem::directory_iterator{"/sys/block"}) {
        const auto name = entry.path().filename().string();
        if (!name.starts_with("loop")) continue;
        const auto owner = loop_device_owner("/dev/" + name);
        if (owner) left.push_back({"/dev/" + name, *owner, ::kill(*owner, 0) == 0 || errno == EPERM});
    }
    return left;
}

int clean(bool dry_run) {
    int failures = 0;
    std::size_t found = 0;
    for (const auto& left : find_loop_devices()) {
        if (left.alive) {
            fmt::print("{} belongs to process {}, which is alive: left alone\n", left.path, left.owner);
            continue;
        }
        ++found;
        if (dry_run) {
            fmt::print("{} was left by process {}\n", left.path, left.owner);
            continue;
        }
        try {
            detach_loop_device(left.path);
            fmt::print("{} was left by process {}: detached\n", left.path, left.owner);
        } catch (const Failure& failure) {
            fmt::print(stderr, "holdfast: {}\n", failure.what());
            ++failures;
        }
    }
    if (found == 0) fmt::print("Nothing was left behind.\n");
    return failures == 0 ? 0 : 3;
}

}  // namespace

void add_clean(CLI::App& app, Action& action) {
    const auto dry_run = std::make_shared<bool>(false);
    auto* verb = app.add_subcommand("clean", "Find and remove what a killed run of ours could have left");
    verb->add_flag("--dry-run", *dry_run, "Only say what was found");
    verb->footer(
        "Example: sudo holdfast clean --dry-run\n"
        "Images and mounts go with the processes that made them; a loop device detaches with its last user.");
    verb->callback([&action, dry_run] { action = [dry_run] { return clean(*dry_run); }; });
}

}  // namespace holdfast
