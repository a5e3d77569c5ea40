// Operations in flight together, and completed one by one.
#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <list>
#include <set>
#include <vector>

#include "cases/stale_data/shared/operation.h"
#include "fixtures/base/aligned_buffer.h"
#include "fixtures/disk/held/held_disk.h"
#include "fixtures/io/aio.h"
#include "fixtures/io/blocking.h"
#include "fixtures/io/file.h"
#include "fixtures/pattern/oracle.h"

namespace holdfast {

/// In which order the disk completes what it holds: the writes as they came, the last one first, the middle one first.
enum class Order { as_submitted, reversed, middle_first };

/// One file, and operations on it.
class Crossing {
 public:
    /// All that is given must outlive it. `content` is told of everything; the operations' data are of generations
    /// from 2 on.
    Crossing(HeldDisk& disk, const std::filesystem::path& path, FileContent& content,
             const std::vector<Operation>& operations);
    Crossing(const Crossing&) = delete;
    Crossing& operator=(const Crossing&) = delete;
    ~Crossing() = default;

    /// Starts the operations, one when the one before it has returned or is blocked, while the disk holds all data; lets
    /// one write go after the other. Calls `look` once all are under way and after each. Throws Failure.
    /// A call that gives up blocks, or turns them into zeros, and returns while a direct write to them is held has not
    /// waited for it, and the write goes to whoever has the blocks next: that is stale data.
    void cross(Order order, const std::function<void()>& look, Findings& findings);

 private:
    void judge_overtaking(std::size_t index, Findings& findings);
    // Whether it has returned.
    bool start(std::size_t index);
    [[nodiscard]] bool returned(std::size_t index) const;
    void check(const WatchedCall& call) const;
    [[nodiscard]] long perform(std::size_t index);
    [[nodiscard]] long submit_direct(std::size_t index);
    [[nodiscard]] long call(std::size_t index);
    // The number of bytes, or -1 and errno.
    [[nodiscard]] long store(std::size_t index);
    void begin(std::size_t index);
    void end(std::size_t index);
    void let_one_go(Order order);
    void take_events();
    // Operations that have ended, direct writes with their events.
    [[nodiscard]] std::size_t ended();
    [[nodiscard]] std::uint32_t generation(std::size_t index) const { return static_cast<std::uint32_t>(index + 2); }

    HeldDisk& disk_;
    FileContent& content_;
    const std::vector<Operation>& operations_;
    File direct_;
    File buffered_;
    std::deque<AlignedBuffer> buffers_;
    AioContext aio_;
    // Direct writes whose events have come.
    std::set<std::size_t> finished_;
    // Last, so that the threads end before what they use.
    std::list<WatchedCall> calls_;
};

}  // namespace holdfast
