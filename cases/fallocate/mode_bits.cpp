// Calls fallocate(2) with every combination of the mode's low bits and with every high bit.
// Contract: a mode that is not known, or not supported, is refused and changes nothing (fallocate(2), EOPNOTSUPP, EINVAL).
// One that exposes what the disk held before (FALLOC_FL_NO_HIDE_STALE, 0x04) is known to no filesystem.
#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>
#include <sys/stat.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "cases/fallocate/shared/mode.h"
#include "fixtures/base/failure.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/ageing.h"
#include "fixtures/io/file.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {

using namespace holdfast::fallocate;

namespace {

// All of the first eight, each of the others alone.
std::vector<int> all_bits() {
    std::vector<int> bits;
    for (int mode = 0; mode < 0x100; ++mode) bits.push_back(mode);
    for (unsigned shift = 8; shift < 32; ++shift) bits.push_back(static_cast<int>(1U << shift));
    return bits;
}

std::vector<int> expected_to_work(const std::filesystem::path& root, std::uint64_t step) {
    std::vector<int> modes;
    for (const auto& mode : supported_modes(root, step)) {
        modes.push_back(mode.flags);
        if (mode.flags == FALLOC_FL_UNSHARE_RANGE) modes.push_back(mode.flags | FALLOC_FL_KEEP_SIZE);
    }
    return modes;
}

// Written below, with blocks allocated behind the end of file where the filesystem does that.
struct Looks {
    std::uint64_t size;
    std::uint64_t blocks;
    std::vector<std::byte> content;
    bool operator==(const Looks&) const = default;
};

Looks look(const File& file) {
    struct stat status {};
    checked(::fstat(file.descriptor(), &status), "fstat of " + file.path().string());
    std::vector<std::byte> content(static_cast<std::uint64_t>(status.st_size));
    content.resize(file.read_at(0, content));
    return {static_cast<std::uint64_t>(status.st_size), static_cast<std::uint64_t>(status.st_blocks),
            std::move(content)};
}

void run(Experiment& experiment) {
    const auto& root = experiment.filesystem().root();
    age(root, 4 * MiB, experiment.seed());
    const auto units = allocation_units(experiment.filesystem());
    const auto known = expected_to_work(root, units.step);
    std::vector<std::string> wrong;
    std::uint64_t refused = 0;
    for (const int mode : all_bits()) {
        const auto file = File::create(root / fmt::format("mode-{:x}", static_cast<unsigned>(mode)));
        const bool moves = (mode & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE)) != 0;
        const auto unit = moves ? units.step : units.block;
        std::vector<std::byte> data(4 * unit);
        fill_data(data, {1, 1}, 0);
        file.write_at(0, data);
        file.sync();
        const auto before = look(file);
        const int error = file.fallocate(mode, unit, unit);
        const bool works = std::ranges::find(known, mode) != known.end();
        if (works && error != 0)
            wrong.push_back(fmt::format("mode {:#x} gives {}", static_cast<unsigned>(mode), error_name(error)));
        if (!works && error != EOPNOTSUPP && error != EINVAL)
            wrong.push_back(fmt::format("mode {:#x} {}", static_cast<unsigned>(mode),
                                        error == 0 ? "works" : "gives " + error_name(error)));
        if (error != 0 && look(file) != before)
            wrong.push_back(fmt::format("mode {:#x} is refused and has changed the file", static_cast<unsigned>(mode)));
        if (error != 0) ++refused;
        std::filesystem::remove(file.path());
    }
    experiment.observe("modes", wrong.empty() ? "right" : wrong.front(), {{"all", wrong}, {"refused", refused}});
}

}  // namespace

extern const Case fallocate_mode_bits;
const Case fallocate_mode_bits{
    .name = "fallocate.mode_bits",
    .summary = "calls fallocate with every combination of mode bits, and asks whether only those that are known work",
    .method =
        "Calls fallocate(2) on a written file with each of the 256 values of the mode's low byte and with each higher "
        "bit alone. The modes of fallocate.modes that the filesystem has must work; all others must give EOPNOTSUPP "
        "or EINVAL and leave size, content and block count as they were. Among them is 0x04 "
        "(FALLOC_FL_NO_HIDE_STALE), which is reserved and would show what the disk held before.",
    .run = run,
};

}  // namespace holdfast::cases
