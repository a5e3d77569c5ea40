// A disk server, its case and the supervisor die, one alone or all in every order: nothing is left behind.
#include <algorithm>
#include <array>
#include <csignal>
#include <random>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fixtures/base/child_process.h"
#include "fixtures/base/mount.h"
#include "fixtures/disk/held/server.h"
#include "fixtures/probe/requirement.h"
#include "harness/testing/left_behind.h"
#include "harness/testing/program.h"

namespace holdfast {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::seconds time_to_go{5};
constexpr const char* connections_directory = "/sys/fs/fuse/connections";

// One line of /proc/PID/stat, behind the program's name: state, parent, ... and at 19 the start time.
std::vector<std::string> read_stat(pid_t process) {
    std::ifstream file{fmt::format("/proc/{}/stat", process)};
    std::string line;
    std::getline(file, line);
    std::istringstream behind_name{line.substr(std::min(line.rfind(')') + 1, line.size()))};
    return {std::istream_iterator<std::string>{behind_name}, {}};
}

// A process, whoever has its number later.
struct Process {
    pid_t id = 0;
    std::string start_time;

    explicit Process(pid_t number) : id(number) {
        if (const auto stat = read_stat(number); stat.size() > 19) start_time = stat[19];
    }
    // A process whose threads are all gone but for who has not yet waited for it is none.
    [[nodiscard]] bool lives() const {
        const auto stat = read_stat(id);
        if (stat.size() <= 19 || stat[19] != start_time) return false;
        std::error_code error;
        const fs::directory_iterator threads{fmt::format("/proc/{}/task", id), error};
        return stat[0] != "Z" || (!error && std::distance(begin(threads), end(threads)) > 1);
    }
    [[nodiscard]] std::string describe() const {
        const auto stat = read_stat(id);
        return fmt::format("process {} in state {}", id, stat.empty() ? "?" : stat[0]);
    }
};

std::vector<pid_t> children_of(pid_t parent) {
    std::vector<pid_t> children;
    for (const auto& entry : fs::directory_iterator{"/proc"}) {
        const pid_t id = std::atoi(entry.path().filename().c_str());
        if (const auto stat = id > 0 ? read_stat(id) : std::vector<std::string>{};
            stat.size() > 1 && stat[1] == std::to_string(parent))
            children.push_back(id);
    }
    return children;
}

bool is_server(pid_t process) {
    std::ifstream file{fmt::format("/proc/{}/cmdline", process)};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    return text.find(disk_server_option) != std::string::npos;
}

// The number of a connection may soon be another's; the inode of its directory is not.
std::string connection(const std::string& number) {
    struct stat status {};
    const auto path = fmt::format("{}/{}", connections_directory, number);
    return ::stat(path.c_str(), &status) == 0 ? fmt::format("{} {}", number, status.st_ino) : "";
}

// The FUSE connections of the filesystems on which a process has files open. Asks the servers nothing.
std::set<std::string> connections_of(pid_t process) {
    std::set<std::string> found;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator{fmt::format("/proc/{}/fd", process), error}) {
        struct statx status {};
        if (::statx(AT_FDCWD, entry.path().c_str(), AT_STATX_DONT_SYNC, STATX_INO, &status) != 0) continue;
        if (status.stx_dev_major != 0) continue;
        if (auto name = connection(std::to_string(status.stx_dev_minor)); !name.empty()) found.insert(std::move(name));
    }
    return found;
}

// What of ours the machine's own mount namespace would show.
std::set<std::string> mounts_of_the_machine() {
    std::set<std::string> found;
    std::ifstream file{"/proc/1/mountinfo"};
    for (std::string line; std::getline(file, line);)
        if (line.find("holdfast") != std::string::npos) found.insert(line);
    return found;
}

enum class Role { server, case_process, supervisor };

// A run under way.
class WatchedRun {
 public:
    explicit WatchedRun(std::vector<std::string> arguments, const char* program)
        : output_(::memfd_create("output", MFD_CLOEXEC)), supervisor_([&] {
              return ChildProcess::start(
                  {.program = program, .arguments = std::move(arguments), .output = output_.get()});
          }()) {}

    // Finds out who there is now. True where all are.
    bool look() {
        found_.clear();
        connections_.clear();
        found_.emplace(Role::supervisor, Process{supervisor_.id()});
        for (const pid_t child : children_of(supervisor_.id())) {
            found_.insert_or_assign(Role::case_process, Process{child});
            for (const pid_t grandchild : children_of(child))
                if (is_server(grandchild)) found_.insert_or_assign(Role::server, Process{grandchild});
            connections_.merge(connections_of(child));
        }
        return found_.size() == 3;
    }

    // Until the case waits in pwrite(2), and has for a while.
    [[nodiscard]] bool wait_until_held() {
        const auto deadline = steady_clock::now() + std::chrono::seconds{60};
        for (int times = 0; times < 10;) {
            if (steady_clock::now() > deadline) return false;
            std::this_thread::sleep_for(milliseconds{10});
            times = look() && waits_in_write(found_.at(Role::case_process).id) ? times + 1 : 0;
        }
        return !connections_.empty();
    }

    void kill(Role role) const {
        if (const auto found = found_.find(role); found != found_.end()) ::kill(found->second.id, SIGKILL);
    }

    // Whether those that were killed are gone, in time.
    [[nodiscard]] bool gone(const std::vector<Role>& killed) const {
        const auto lives = [this](Role role) {
            const auto found = found_.find(role);
            return role != Role::supervisor && found != found_.end() && found->second.lives();
        };
        const auto deadline = steady_clock::now() + time_to_go;
        while (std::ranges::any_of(killed, lives)) {
            if (steady_clock::now() > deadline) return false;
            std::this_thread::sleep_for(milliseconds{20});
        }
        return true;
    }

    // Where the supervisor lives on it has to come to an end with what is left.
    [[nodiscard]] bool wait_for_end(bool killed) {
        return supervisor_.wait_for(killed ? milliseconds{time_to_go} : milliseconds{60'000}).has_value();
    }

    // What of it is still there; empty where nothing is.
    [[nodiscard]] std::string left() const {
        std::string text;
        for (const auto& [role, process] : found_)
            if (process.lives()) text += "\n  " + process.describe();
        for (const auto& name : connections_)
            if (connection(name.substr(0, name.find(' '))) == name) text += "\n  FUSE connection " + name;
        return text;
    }

 private:
    static bool waits_in_write(pid_t process) {
        std::ifstream file{fmt::format("/proc/{}/syscall", process)};
        long number = -1;
        return (file >> number) && number == SYS_pwrite64;
    }

    Descriptor output_;
    ChildProcess supervisor_;
    std::map<Role, Process> found_;
    std::set<std::string> connections_;
};

using Order = std::vector<Role>;

class KilledProcesses : public testing::TestWithParam<Order> {
 protected:
    void SetUp() override {
        if (const auto missing = find_missing(Requirement{"feature", "fuse"})) GTEST_SKIP() << missing->what;
        ::setenv(mark_variable, std::to_string(::getpid()).c_str(), 1);
        enter_private_namespace();
        fusectl_.emplace("none", connections_directory, "fusectl", "");
        before_ = Traces::now();
        mounts_before_ = mounts_of_the_machine();
    }

    void kill_all(WatchedRun& run, const std::string& what) {
        for (const auto role : GetParam()) {
            run.kill(role);
            std::this_thread::sleep_for(milliseconds{gap_(random_)});
        }
        EXPECT_TRUE(run.gone(GetParam())) << what << run.left();
        const bool supervisor_too = std::ranges::find(GetParam(), Role::supervisor) != GetParam().end();
        ASSERT_TRUE(run.wait_for_end(supervisor_too)) << what << ": the supervisor lives on" << run.left();
        const auto deadline = steady_clock::now() + time_to_go;
        while (!(run.left() + Traces::now().since(before_)).empty() && steady_clock::now() < deadline)
            std::this_thread::sleep_for(milliseconds{20});
        EXPECT_EQ(run.left() + Traces::now().since(before_), "") << what;
        EXPECT_EQ(mounts_of_the_machine(), mounts_before_) << what;
    }

    // The moments are the same in every run, as far as the machine lets them be.
    std::mt19937 random_{20'261'202};
    std::uniform_int_distribution<int> gap_{0, 20};
    Traces before_;
    std::set<std::string> mounts_before_;
    std::optional<Mount> fusectl_;
    Scratch scratch_;
};

TEST_P(KilledProcesses, LeaveNothingBehindWhileWritesAreHeld) {
    for (const auto* name : {"ext4", "xfs"}) {
        WatchedRun run{
            {"run", "planted.held_write", "--filesystem", name, "--results", (scratch_ / "results.json").string()},
            HOLDFAST_PLANTED};
        ASSERT_TRUE(run.wait_until_held()) << name;
        kill_all(run, name);
    }
}

TEST_P(KilledProcesses, LeaveNothingBehindAtAnyMoment) {
    std::uniform_int_distribution<int> delay{0, 1000};
    for (const auto* name :
         {"aio_append.at_eof/ext4", "aio_append.second_append/xfs", "stale_data.append_window/ext4"}) {
        WatchedRun run{{"run", name, "--results", (scratch_ / "results.json").string()}, HOLDFAST};
        const auto moment = delay(random_);
        std::this_thread::sleep_for(milliseconds{moment});
        run.look();
        kill_all(run, fmt::format("{} after {} ms", name, moment));
    }
}

std::string describe_order(const testing::TestParamInfo<Order>& info) {
    std::string text;
    for (const auto role : info.param)
        text += role == Role::server ? "Server" : role == Role::case_process ? "Case" : "Supervisor";
    return text;
}

INSTANTIATE_TEST_SUITE_P(InOrder, KilledProcesses,
                         testing::Values(Order{Role::server}, Order{Role::case_process}, Order{Role::supervisor},
                                         Order{Role::server, Role::case_process, Role::supervisor},
                                         Order{Role::server, Role::supervisor, Role::case_process},
                                         Order{Role::case_process, Role::server, Role::supervisor},
                                         Order{Role::case_process, Role::supervisor, Role::server},
                                         Order{Role::supervisor, Role::server, Role::case_process},
                                         Order{Role::supervisor, Role::case_process, Role::server}),
                         describe_order);

}  // namespace
}  // namespace holdfast
