// What a running case has in its hands.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cases/observation.h"
#include "fixtures/disk/held/held_disk.h"
#include "fixtures/disk/model/device_model.h"
#include "fixtures/filesystem/disposable.h"

namespace holdfast {

/// Thrown by Experiment::skip. A case lets it pass.
struct Skipped {
    std::string why;
};

/// What a run asks of a case.
struct CaseOptions {
    std::uint64_t seed = 1;
    /// How long a case that works in rounds is to go on.
    std::optional<std::chrono::seconds> duration{};
    /// At the sizes that were published, however long it takes.
    bool full = false;
    /// Steps to carry out in place of random ones (a file), or empty.
    std::filesystem::path replayed{};
    /// Where models of devices come from, by name.
    std::function<DeviceModel(std::string_view)> device_model = shipped_device_model;
};

class Experiment {
 public:
    using Report = std::function<void(const Observation&)>;

    Experiment(DisposableFilesystem& filesystem, CaseOptions options, Report report)
        : filesystem_(filesystem), options_(std::move(options)), report_(std::move(report)) {}

    /// A freshly made and mounted filesystem, this case's alone.
    [[nodiscard]] DisposableFilesystem& filesystem() { return filesystem_; }
    /// The disk under it where it is a held one; else null.
    [[nodiscard]] HeldDisk* held_disk() { return dynamic_cast<HeldDisk*>(&filesystem_.disk()); }
    [[nodiscard]] const Recipe& recipe() const { return filesystem_.recipe(); }
    /// Where all randomness of a case comes from; printed by a failing case and set by --seed.
    [[nodiscard]] std::uint64_t seed() const { return options_.seed; }
    /// How long a case that works in rounds is to go on; nothing where a few rounds will do.
    [[nodiscard]] std::optional<std::chrono::seconds> duration() const { return options_.duration; }
    /// Whether a published workload is to be as large as it was.
    [[nodiscard]] bool full() const { return options_.full; }
    /// A file with the steps that a case of random steps is to carry out; empty where it is to choose.
    [[nodiscard]] const std::filesystem::path& replayed() const { return options_.replayed; }

    /// A device to be modelled. Throws Failure where there is none of that name.
    [[nodiscard]] DeviceModel device_model(std::string_view name) const { return options_.device_model(name); }

    /// Reports at once, so that what was seen before a hang or a crash is not lost.
    void observe(const Observation& observation) { report_(observation); }
    void observe(std::string name, nlohmann::json value, nlohmann::json evidence = nlohmann::json::object()) {
        report_({.name = std::move(name), .value = std::move(value), .evidence = std::move(evidence)});
    }

    /// Ends the case as SKIP: for what can only be found out on the filesystem itself.
    [[noreturn]] void skip(std::string why) { throw Skipped{std::move(why)}; }

 private:
    DisposableFilesystem& filesystem_;
    CaseOptions options_;
    Report report_;
};

}  // namespace holdfast
