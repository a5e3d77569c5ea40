// What every case of this family observes of one write that was submitted while the disk held it.
#pragma once

#include <cstdint>

#include "cases/experiment.h"
#include "fixtures/io/submission.h"
#include "fixtures/pattern/sector.h"

namespace holdfast {

/// The unit in which these cases write, in bytes: the filesystem's block (statvfs(3)), but no less than 4096. Throws
/// SystemFailure.
[[nodiscard]] std::uint64_t block_size(const DisposableFilesystem& filesystem);

/// Observes `submission` ("async" or "blocks") and, where it blocks and the kernel tells, `where`; and
/// `completed_while_held` (the kernel has buffered a direct write).
void observe_submission(Experiment& experiment, const HeldSubmission& held);

/// Observes what the completed write of the `length` bytes of `tag` at `offset` has left behind: `completed`, `size_after`
/// ("right" or the size in bytes) and `content` ("right" or what is there instead).
void observe_result(Experiment& experiment, const HeldSubmission& held, const File& file, FileTag tag,
                    std::uint64_t offset, std::uint64_t length, std::uint64_t size);

}  // namespace holdfast
