// The question of this family, asked about one scene in every way in which a program can write.
#pragma once

#include <cstdint>

#include "cases/aio_append/shared/scene.h"
#include "cases/case.h"
#include "cases/experiment.h"
#include "fixtures/filesystem/allocation_units.h"

namespace holdfast {

/// Observes, for io_submit(2): `submission` ("async" or "blocks") and, where it blocks, `where` (a kernel function) and
/// `waits_for` ("own write", "earlier write", "lock", "log", "metadata read", and in which order); `completed_while_held`; `completed`;
/// `size_after` ("right" or the size in bytes); for writes with O_DSYNC
/// `durable` ("yes", or what a power cut in the moment of their completion would leave). Then `nowait`: what becomes of
/// the same with RWF_NOWAIT ("completes", "blocks", an errno, or how much of it was written); `io_uring`: whether io_uring_enter(2) carries them
/// out itself ("inline"), leaves them to a thread of the kernel ("punted"), or blocks; `synchronous`: what pwritev2(2)
/// waits for. `content`: "right", or what is there instead after any of these. And `preallocated`, where the scene wants it: "yes", or the errno with which fallocate(2) refused, where
/// it ends. Without a held disk a scene with O_DSYNC ends as SKIP, after all that can be told.
void ask(Experiment& experiment, const Scene& scene);

/// What all cases of this family share.
inline constexpr auto aio_append_disk = DiskNeed::held_if_possible;
[[nodiscard]] std::vector<Requirement> aio_append_needs();

}  // namespace holdfast
