// A scene, performed while the disk holds every write.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cases/aio_append/shared/stage.h"
#include "cases/aio_append/shared/way.h"
#include "fixtures/disk/disk.h"
#include "fixtures/io/blocking.h"

namespace holdfast {

/// What became of the writes.
struct Outcome {
    /// The call had not returned while its own write, or what it waited for, was held.
    bool blocks = false;
    /// What it waited for, in order, each let go in its turn: "lock", "earlier write", "own write", "log",
    /// "metadata read". Empty where it does not block, and where the disk can only let everything go at once.
    std::vector<std::string> waits_for{};
    /// Where it waited first.
    Blocked first{};
    /// An event had come while every write was held: the kernel buffers what is asked to be direct.
    bool completed_while_held = false;
    /// io_uring: a worker of the kernel carries the writes out, since they would have blocked; with its kernel stack.
    bool punted = false;
    std::vector<std::string> worker_stack{};
    /// The call that is under way meanwhile had not returned when the writes were asked for.
    bool meanwhile_waits = false;
    /// What the call returned.
    long taken = 0;
    /// By write.
    std::vector<std::int64_t> results{};
    /// The clock has ticked between the file's times being set to now and its being written to: the write may have had
    /// them to change once more, and what became of it says nothing of any other.
    bool clock_has_ticked = false;
};

/// Who asks, and how.
struct Cast {
    Way& way;
    /// What the earlier writes are submitted through.
    Way& earlier;
    /// Of the writes that are asked about, besides their own: RWF_NOWAIT.
    int more_flags = 0;
    /// How a file's times are set to now without waiting for the disk.
    Touch touch = Touch::by_call;
};

/// Asks for the writes of a scene while the disk holds every write (of a cold scene every read too), finds out whether the call blocks and on what, lets
/// everything go, and waits for all events; calls `completed` as soon as the last one has come.
/// Throws Failure where it cannot be told.
[[nodiscard]] Outcome perform(
    Disk& disk, Stage& stage, const Cast& cast, const std::function<void()>& completed = [] {});

}  // namespace holdfast
