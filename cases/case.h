// What a case is: one question about kernel behaviour, and how to find out.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "fixtures/probe/requirement.h"

namespace holdfast {

class Experiment;

/// What the filesystem of a case lives on.
enum class DiskNeed {
    /// A plain file, which reads as zeros where nobody wrote.
    zeroed,
    /// A file filled with poison before mkfs, so that stale bytes can be told from zeros.
    poisoned,
    /// A held disk, which reads as poison where nobody wrote; where there is no FUSE a zeroed file, whose writes can be
    /// held, but only all at once.
    held_if_possible,
    /// A held disk.
    held
};

/// What a case needs where it runs at the sizes that were published.
struct FullSize {
    /// Of the filesystem, in bytes; not less than its recipe has.
    std::uint64_t filesystem = 0;
    /// Memory that the case takes besides its disk, in bytes.
    std::uint64_t memory = 0;
    std::vector<Requirement> needs{};
    /// In place of the case's own.
    std::chrono::seconds time_bound{3600};
};

/// A case is one file, cases/FAMILY/NAME.cpp, that defines one of these under the name FAMILY_NAME in
/// holdfast::cases; the build finds it by the file's name.
struct Case {
    /// "family.case".
    std::string_view name;
    /// One sentence that completes "This case ...": shown by `list`.
    std::string_view summary;
    /// How it finds out, in a few sentences: shown by `explain`.
    std::string_view method;
    /// What it needs besides what its filesystem needs.
    std::vector<Requirement> needs{};
    DiskNeed disk = DiskNeed::zeroed;
    /// The disk fails requests on purpose: what filesystems say of that in the kernel's log is no reason for a CRASH.
    bool fails_io = false;
    /// Runs only where a filter names it or its family ("sources.*"), not with all others.
    bool only_by_name = false;
    /// Does the same over and over: a few times, or for as long as --for says.
    bool in_rounds = false;
    /// Of a published workload that is smaller than it was, unless the run is to be in full.
    std::optional<FullSize> full{};
    /// A case that has not ended by then is a HANG. Not a measure of speed: many times what it takes.
    std::chrono::seconds time_bound{180};
    /// Observes, through the experiment. Throws Failure when the surroundings fail.
    void (*run)(Experiment&) = nullptr;

    /// The bound that holds in a run that is in full, or is not.
    [[nodiscard]] std::chrono::seconds bound(bool in_full) const {
        return in_full && full ? full->time_bound : time_bound;
    }
    [[nodiscard]] std::string_view family() const { return name.substr(0, name.find('.')); }
};

/// Every case that comes with Holdfast, by family and name.
[[nodiscard]] std::span<const Case* const> shipped_cases();

}  // namespace holdfast
