#include "harness/supervise/supervisor.h"

#include <algorithm>
#include <list>

#include <poll.h>

#include "fixtures/base/failure.h"
#include "fixtures/filesystem/space.h"
#include "harness/case_process/full_size.h"
#include "harness/case_process/run_case.h"

namespace holdfast {
namespace {

using Clock = RunningCase::Clock;

constexpr std::chrono::milliseconds tick{200};

class Supervisor {
 public:
    Supervisor(const std::vector<Planned>& plan, unsigned jobs, const CaseSurroundings& surroundings,
               EndingSignals& signals, const Watcher& watcher)
        : plan_(plan), jobs_(jobs), surroundings_(surroundings), signals_(signals), watcher_(watcher) {}

    int run() {
        while (next_ < plan_.size() || !running_.empty()) {
            while (next_ < plan_.size() && running_.size() < jobs_) start(plan_[next_++]);
            if (running_.empty()) continue;
            wait();
            if (const int signal = signals_.take(); signal != 0) {
                for (auto& one : running_) one.end_now();
                running_.clear();
                return signal;
            }
            pass_deadlines();
            tell_tick();
        }
        return 0;
    }

 private:
    [[nodiscard]] std::string find_all_missing(const Planned& planned) const {
        auto missing = missing_for(*planned.one, *planned.recipe);
        if (!missing.empty()) return missing;
        if (surroundings_.full) return describe(find_missing_for_full_size(*planned.one, *planned.recipe));
        const auto kind = disk_kind_for(*planned.one, *planned.recipe);
        const auto lack = find_missing_space(*planned.recipe, kind, space_);
        return lack ? describe({*lack}) : std::string{};
    }

    void start(const Planned& planned) {
        watcher_.started(planned);
        if (auto missing = find_all_missing(planned); !missing.empty())
            return without_process(planned, Verdict::skip, std::move(missing));
        try {
            running_.emplace_back(planned, surroundings_);
        } catch (const Failure& failure) {
            without_process(planned, Verdict::broken, failure.what());
        }
    }

    void without_process(const Planned& planned, Verdict verdict, std::string reason) {
        CaseResult result{.name = std::string{planned.one->name},
                          .filesystem = planned.recipe->name,
                          .disk = "file",
                          .verdict = verdict,
                          .reason = std::move(reason)};
        result.seed = surroundings_.seed;
        result.repetition = planned.repetition;
        watcher_.finished(planned, result);
    }

    void wait() {
        std::vector<pollfd> polled{{.fd = signals_.descriptor(), .events = POLLIN, .revents = 0}};
        auto until = Clock::now() + tick;
        for (const auto& one : running_) {
            polled.push_back({.fd = one.ended_descriptor(), .events = POLLIN, .revents = 0});
            polled.push_back({.fd = one.report_descriptor(), .events = POLLIN, .revents = 0});
            until = std::min(until, one.deadline());
        }
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
        if (::poll(polled.data(), polled.size(), static_cast<int>(std::max<long>(left, 0))) < 0 && errno != EINTR)
            throw SystemFailure("waiting for case processes", errno);
        std::size_t index = 1;
        for (auto one = running_.begin(); one != running_.end(); index += 2) {
            if (polled[index + 1].revents != 0) one->read_report();
            one = polled[index].revents != 0 ? finish(one) : std::next(one);
        }
    }

    std::list<RunningCase>::iterator finish(std::list<RunningCase>::iterator one) {
        watcher_.finished(one->planned(), one->finish());
        return running_.erase(one);
    }

    void pass_deadlines() {
        for (auto one = running_.begin(); one != running_.end();) {
            if (Clock::now() >= one->deadline()) one->pass_deadline();
            one = one->given_up() ? finish(one) : std::next(one);
        }
    }

    void tell_tick() const {
        std::vector<const RunningCase*> now;
        for (const auto& one : running_) now.push_back(&one);
        watcher_.ticked(now);
    }

    const std::vector<Planned>& plan_;
    unsigned jobs_;
    const CaseSurroundings& surroundings_;
    EndingSignals& signals_;
    const Watcher& watcher_;
    // Of the whole run: what other cases of it take meanwhile comes back.
    std::uint64_t space_ = space_for_images(surroundings_.directory);
    std::size_t next_ = 0;
    std::list<RunningCase> running_;
};

}  // namespace

int supervise(const std::vector<Planned>& plan, unsigned jobs, const CaseSurroundings& surroundings,
              EndingSignals& signals, const Watcher& watcher) {
    return Supervisor{plan, jobs, surroundings, signals, watcher}.run();
}

}  // namespace holdfast
