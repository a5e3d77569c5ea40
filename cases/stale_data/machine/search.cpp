#include "cases/stale_data/machine/search.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cases/stale_data/machine/machine.h"
#include "cases/stale_data/machine/replay.h"
#include "cases/stale_data/machine/step_json.h"
#include "cases/stale_data/shared/judged_read.h"

namespace holdfast::machine {
namespace {

constexpr std::uint64_t sequences_by_default = 8;
// So many smaller sequences are tried. What depends on luck is shrunk as far as luck goes.
constexpr unsigned tries_to_shrink = 120;

class Search {
 public:
    Search(Experiment& experiment, std::string_view case_name, const Plant& plant)
        : experiment_(experiment), case_name_(case_name), machine_(experiment, plant) {}

    void replay(const Steps& steps) {
        last_ = carry_out(steps);
        failed_ = steps;
        observe(true);
    }

    void search() {
        using Clock = std::chrono::steady_clock;
        const auto duration = experiment_.duration();
        const auto end = Clock::now() + duration.value_or(std::chrono::seconds{0});
        for (std::uint64_t i = 0; duration ? Clock::now() < end : i < sequences_by_default; ++i) {
            const auto seed = experiment_.seed() + i;
            auto steps = generate(machine_.abilities(), seed);
            last_ = carry_out(steps);
            if (last_.good()) continue;
            failed_ = std::move(steps);
            shrink_failed(seed);
            break;
        }
        observe(!last_.good());
    }

 private:
    Outcome carry_out(const Steps& steps) {
        auto outcome = machine_.carry_out(steps);
        ++sequences_;
        steps_ += steps.size();
        states_ += outcome.states;
        return outcome;
    }

    void shrink_failed(std::uint64_t seed) {
        const auto first_size = failed_.size();
        failed_.resize(last_.steps);
        const auto shrunk = shrink(
            machine_.abilities(), seed, last_.steps,
            [&](const Steps& steps) {
                auto outcome = carry_out(steps);
                const bool fails = !outcome.good();
                if (fails) last_ = std::move(outcome);
                return fails;
            },
            tries_to_shrink);
        failed_ = shrunk.steps;
        shrunk_ = fmt::format("{} steps shrunk to {} in {} tries", first_size, failed_.size(), shrunk.tries);
    }

    void observe(bool with_steps) {
        nlohmann::json evidence{{"sequences", sequences_}, {"steps", steps_}, {"states", states_}};
        if (with_steps) {
            evidence["story"] = describe(failed_);
            evidence["replay"] = {
                {"case", case_name_}, {"filesystem", experiment_.recipe().name}, {"steps", to_json(failed_)}};
        }
        if (!shrunk_.empty()) evidence["shrunk"] = shrunk_;
        observe_findings(experiment_, last_.findings, evidence);
        const auto observe = [&](const char* name, const std::vector<std::string>& all) {
            auto own = evidence;
            own["first"] = all.empty() ? std::string{} : all.front();
            experiment_.observe(name, all.size(), own);
        };
        observe("wrong_answers", last_.wrong);
        observe("unmountable", last_.unmountable);
        observe("damaged", last_.damaged);
    }

    Experiment& experiment_;
    std::string_view case_name_;
    Machine machine_;
    Outcome last_;
    Steps failed_;
    std::string shrunk_;
    std::uint64_t sequences_ = 0;
    std::uint64_t steps_ = 0;
    std::uint64_t states_ = 0;
};

}  // namespace

void search_for_failure(Experiment& experiment, std::string_view case_name, const Plant& plant) {
    Search search{experiment, case_name, plant};
    if (experiment.replayed().empty()) return search.search();
    const auto replays = read_replays(experiment.replayed());
    const auto own = std::ranges::find(replays, experiment.recipe().name, &Replay::filesystem);
    search.replay(own == replays.end() ? replays.front().steps : own->steps);
}

}  // namespace holdfast::machine
