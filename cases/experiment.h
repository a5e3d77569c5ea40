// What a running case has in its hands.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cases/observation.h"
#include "fixtures/disk/held/held_disk.h"
#include "fixtures/filesystem/disposable.h"

namespace holdfast {

/// Thrown by Experiment::skip. A case lets it pass.
struct Skipped {
    std::string why;
};

class Experiment {
 public:
    using Report = std::function<void(const Observation&)>;

    Experiment(DisposableFilesystem& filesystem, std::uint64_t seed, Report report)
        : filesystem_(filesystem), seed_(seed), report_(std::move(report)) {}

    /// A freshly made and mounted filesystem, this case's alone.
    [[nodiscard]] DisposableFilesystem& filesystem() { return filesystem_; }
    /// The disk under it where it is a held one; else null.
    [[nodiscard]] HeldDisk* held_disk() { return dynamic_cast<HeldDisk*>(&filesystem_.disk()); }
    [[nodiscard]] const Recipe& recipe() const { return filesystem_.recipe(); }
    /// Where all randomness of a case comes from; printed by a failing case and set by --seed.
    [[nodiscard]] std::uint64_t seed() const { return seed_; }

    /// Reports at once, so that what was seen before a hang or a crash is not lost.
    void observe(const Observation& observation) { report_(observation); }
    void observe(std::string name, nlohmann::json value, nlohmann::json evidence = nlohmann::json::object()) {
        report_({.name = std::move(name), .value = std::move(value), .evidence = std::move(evidence)});
    }

    /// Ends the case as SKIP: for what can only be found out on the filesystem itself.
    [[noreturn]] void skip(std::string why) { throw Skipped{std::move(why)}; }

 private:
    DisposableFilesystem& filesystem_;
    std::uint64_t seed_;
    Report report_;
};

}  // namespace holdfast
