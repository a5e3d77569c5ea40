#include "harness/supervise/running_case.h"

#include <algorithm>
#include <array>
#include <csignal>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixtures/base/bytes.h"
#include "fixtures/base/failure.h"
#include "harness/case_process/gtest_program.h"
#include "harness/supervise/process_stacks.h"

namespace holdfast {
namespace {

// What a killed process may still take: the kernel flushes and unmounts its filesystem inside it.
constexpr std::chrono::seconds time_to_die{60};

constexpr std::size_t most_output = 64 * KiB;

// Under which numbers a case process finds what it inherits.
constexpr ReportingOptions inherited{.report = 100, .shared = 101, .images = 102};

std::pair<Descriptor, Descriptor> make_pipe() {
    std::array<int, 2> ends{};
    checked(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), "making a pipe for a case's report");
    checked(::fcntl(ends[1], F_SETFL, 0), "making a pipe for a case's report");
    return {Descriptor{ends[0]}, Descriptor{ends[1]}};
}

std::chrono::seconds time_bound_of(const Case& one, const CaseSurroundings& surroundings) {
    const auto rounds =
        one.in_rounds ? surroundings.duration.value_or(std::chrono::seconds{0}) : std::chrono::seconds{0};
    return surroundings.time_bound.value_or(one.bound(surroundings.full)) + rounds;
}

}  // namespace

RunningCase::RunningCase(const Planned& planned, const CaseSurroundings& surroundings)
    : planned_(planned),
      surroundings_(surroundings),
      time_bound_(time_bound_of(*planned.one, surroundings)),
      deadline_(start_ + time_bound_),
      output_(checked(::memfd_create("case-output", MFD_CLOEXEC), "memfd_create")),
      report_pipe_(),
      report_pipe_end_(),
      child_([this] {
          std::tie(report_pipe_, report_pipe_end_) = make_pipe();
          return ChildProcess::start(command());
      }()) {
    report_pipe_end_.reset();
}

Command RunningCase::command() const {
    std::vector<std::string> arguments{fmt::format("--gtest_filter={}", filter_for_gtest(planned_.name())),
                                       "--gtest_brief=1", fmt::format("--seed={}", surroundings_.seed),
                                       fmt::format("{}={}", option_report, inherited.report),
                                       fmt::format("{}={}", option_shared, inherited.shared)};
    std::vector<Command::Inherited> descriptors{{report_pipe_end_.get(), inherited.report},
                                                {surroundings_.directory.shared_descriptor(), inherited.shared}};
    if (const int images = surroundings_.directory.images_descriptor(); images >= 0) {
        arguments.push_back(fmt::format("{}={}", option_images, inherited.images));
        descriptors.push_back({images, inherited.images});
    }
    if (surroundings_.duration) arguments.push_back(fmt::format("--for={}", surroundings_.duration->count()));
    if (surroundings_.full) arguments.emplace_back("--full");
    if (const auto& file = surroundings_.replayed; !file.empty())
        arguments.push_back(fmt::format("{}={}", option_replay, file.string()));
    const auto& recipes = surroundings_.recipe_arguments;
    arguments.insert(arguments.end(), recipes.begin(), recipes.end());
    return {.program = running_program(),
            .arguments = std::move(arguments),
            .descriptors = std::move(descriptors),
            .output = output_.get(),
            .environment = {"GTEST_SHARD_STATUS_FILE", "GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX"}};
}

double RunningCase::seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

bool RunningCase::read_report() {
    std::array<char, 4096> buffer{};
    for (;;) {
        const auto count = ::read(report_pipe_.get(), buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return true;
        if (count == 0) return false;
        unread_.append(buffer.data(), static_cast<std::size_t>(count));
        for (auto end = unread_.find('\n'); end != std::string::npos; end = unread_.find('\n')) {
            try {
                report_.take(nlohmann::json::parse(unread_.substr(0, end)));
            } catch (const std::exception& error) {
                unreadable_report_ = error.what();
            }
            unread_.erase(0, end + 1);
        }
    }
}

void RunningCase::pass_deadline() {
    deadline_ = Clock::now() + time_to_die;
    given_up_ = stacks_.has_value();
    if (given_up_) return;
    stacks_ = stacks_of_group(child_.id());
    child_.signal_group(SIGKILL);
}

void RunningCase::end_now() {
    child_.signal_group(SIGKILL);
    if (!child_.wait_for(time_to_die)) {
        child_.abandon();
        given_up_ = true;
    }
}

std::string RunningCase::output() const {
    struct stat status {};
    checked(::fstat(output_.get(), &status), "fstat of a case's output");
    const auto size = static_cast<std::size_t>(status.st_size);
    std::string text(std::min(size, most_output), '\0');
    const auto got = checked(::pread(output_.get(), text.data(), text.size(), static_cast<off_t>(size - text.size())),
                             "reading a case's output");
    text.resize(static_cast<std::size_t>(got));
    return text;
}

std::string RunningCase::replay_command() const {
    return fmt::format("holdfast run '{}' --seed {}{}{}", planned_.name(), surroundings_.seed,
                       surroundings_.run_arguments.empty() ? "" : " ", fmt::join(surroundings_.run_arguments, " "));
}

CaseResult RunningCase::finish() {
    Ended ended{.time_bound = time_bound_};
    if (given_up_)
        child_.abandon();
    else
        ended.ending = child_.wait();
    read_report();
    if (unreadable_report_ && !report_.broken) report_.broken = unreadable_report_;
    ended.stacks = stacks_;
    ended.kernel_log = about(report_.device, log_.read_new());
    const auto alarms = [&](const std::string& line) {
        return is_alarm(line) && !(planned_.one->fails_io && is_alarm_of_failed_io(line));
    };
    std::copy_if(ended.kernel_log.begin(), ended.kernel_log.end(), std::back_inserter(ended.alarms), alarms);
    if (const auto letters = KernelTaint::now().letters_since(taint_); !letters.empty())
        ended.alarms.push_back(fmt::format("new taint {}", letters));
    auto result = conclude(
        {planned_.one->name, planned_.recipe->name, surroundings_.expectations, surroundings_.profile}, report_, ended);
    if (given_up_) result.reason += "; its process cannot be killed and was left behind";
    result.seconds = seconds();
    result.seed = surroundings_.seed;
    result.repetition = planned_.repetition;
    result.command = replay_command();
    if (blames_kernel(result.verdict) || result.verdict == Verdict::broken) result.output = output();
    return result;
}

}  // namespace holdfast
