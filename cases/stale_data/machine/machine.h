// Carries out a sequence of steps on a filesystem, and judges what it shows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cases/experiment.h"
#include "cases/stale_data/machine/generate.h"
#include "cases/stale_data/machine/step.h"
#include "fixtures/base/descriptor.h"
#include "fixtures/disk/held/client.h"
#include "fixtures/pattern/oracle.h"

namespace holdfast::machine {

struct Outcome {
    Findings findings;
    /// Answers of calls.
    std::vector<std::string> wrong{};
    /// States that power cuts have left.
    std::vector<std::string> unmountable{};
    std::vector<std::string> damaged{};
    std::uint64_t states = 0;
    /// Of the sequence, that were carried out: what was found ends it.
    std::size_t steps = 0;

    [[nodiscard]] bool good() const {
        return findings.none() && wrong.empty() && unmountable.empty() && damaged.empty();
    }
};

/// Done to the disk of each sequence before its first step, by tests.
using Plant = std::function<void(ServedDisk&)>;

class Machine {
 public:
    /// Finds out what the experiment's filesystem can do, and takes it as what every sequence begins with: it is no longer
    /// mounted afterwards. Throws Failure.
    explicit Machine(Experiment& experiment, Plant plant = {});

    [[nodiscard]] const Abilities& abilities() const { return abilities_; }
    /// Each time on a filesystem of its own. What a step cannot do here and now (a range that is not in the file, a clone
    /// where there are none) is passed over.
    [[nodiscard]] Outcome carry_out(const Steps& steps);

 private:
    Experiment& experiment_;
    Plant plant_;
    Abilities abilities_;
    std::uint64_t size_;
    std::shared_ptr<DiskServer> server_;
    Descriptor snapshot_;
};

}  // namespace holdfast::machine
