// The ways in which a program can ask for writes.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "fixtures/io/aio.h"

namespace holdfast {

/// A write to ask for. The bytes must live until its event has come.
struct Write {
    const File* file = nullptr;
    std::uint64_t offset = 0;
    std::span<const std::byte> bytes;
    /// As in pwritev2(2): RWF_DSYNC.
    int flags = 0;
};

class Way {
 public:
    Way() = default;
    Way(const Way&) = delete;
    Way& operator=(const Way&) = delete;
    virtual ~Way() = default;

    /// The number of the system call that `submit` makes.
    [[nodiscard]] virtual long system_call() const = 0;
    /// Makes that call, once, for all of `writes`. Returns how many it took, or a negative errno.
    [[nodiscard]] virtual long submit(std::span<const Write> writes) = 0;
    /// The next event, whose id is the write's place in what was submitted; nothing where none comes within `bound`.
    [[nodiscard]] virtual std::optional<AioEvent> event(std::chrono::milliseconds bound) = 0;
};

/// io_submit(2).
[[nodiscard]] std::unique_ptr<Way> aio_way();
/// io_uring_enter(2). Throws SystemFailure where the kernel refuses a ring.
[[nodiscard]] std::unique_ptr<Way> uring_way();
/// pwritev2(2), which takes the first write alone.
[[nodiscard]] std::unique_ptr<Way> synchronous_way();

}  // namespace holdfast
