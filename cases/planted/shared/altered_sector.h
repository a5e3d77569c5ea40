// A file under which one sector is not what was written.
#pragma once

#include <span>

#include "cases/experiment.h"
#include "cases/planted/shared/beneath.h"
#include "cases/stale_data/shared/judged_read.h"
#include "cases/stale_data/shared/tracked_file.h"

namespace holdfast {

/// Where in the file, in bytes.
inline constexpr std::uint64_t altered_offset = 40'960;

/// Writes a file, finds that sector in the image by what it says of itself, writes `sector` over it, beneath the filesystem,
/// and reads the file.
inline void observe_altered_sector(Experiment& experiment, std::span<const std::byte> sector) {
    auto& filesystem = experiment.filesystem();
    TrackedFile file{filesystem.root() / "file-1", 1};
    file.write({0, 64 * KiB});
    file.sync();
    file.close();
    filesystem.remount();
    overwrite_beneath(filesystem.disk(), find_data(filesystem.disk(), Data{{1, 1}, altered_offset}), sector);

    Findings findings;
    judge_whole_file(file.path(), file.content(), findings);
    observe_findings(experiment, findings);
}

}  // namespace holdfast
