// Several cases played in one process, with one observation taken of each.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "cases/case.h"
#include "cases/experiment.h"

namespace holdfast {

struct Asked {
    const Case* played;
    /// The observation that is to tell that something is broken.
    std::string_view observation;
};

/// Plays them one after the other; reports those observations alone, each under its case's name. What `options` says of
/// the seed is left out.
inline void play(Experiment& experiment, std::span<const Asked> all, CaseOptions options = {}) {
    options.seed = experiment.seed();
    for (const Asked& asked : all) {
        Experiment inner{experiment.filesystem(), options, [&](const Observation& observation) {
                             if (observation.name != asked.observation) return;
                             Observation renamed = observation;
                             renamed.name = std::string(asked.played->name);
                             experiment.observe(renamed);
                         }};
        asked.played->run(inner);
        // What it has left would be in the next one's way.
        for (const auto& entry : std::filesystem::directory_iterator(experiment.filesystem().root()))
            if (entry.path().filename() != "lost+found") std::filesystem::remove_all(entry.path());
    }
}

}  // namespace holdfast
