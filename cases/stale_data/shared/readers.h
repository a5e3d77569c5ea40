// Readers that look at a file while others change it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include "cases/stale_data/shared/judged_read.h"
#include "fixtures/pattern/oracle.h"

namespace holdfast {

/// Whether the file may become shorter while it is read: then nobody maps it, since a page behind the end of file cannot
/// be read at all.
enum class Shrinking { no, yes };

/// Before 6.4, a page fault in a file of XFS waits for the lock that a clone or a fallocate(2) in flight has, and keeps the
/// lock of this process's memory meanwhile, so that none of its threads goes on before the disk lets go (commit
/// 945ea457b5a5, "xfs: remove xfs_filemap_map_pages() wrapper"). Throws SystemFailure.
[[nodiscard]] bool fault_stops_process(const std::filesystem::path& folder);

/// Each reader in a thread of its own: behind a writer that waits for the disk, a reader may have to wait as well.
class Readers {
 public:
    /// `content` must outlive them.
    Readers(std::filesystem::path path, const FileContent& content, Range range, Shrinking shrinking);
    Readers(const Readers&) = delete;
    Readers& operator=(const Readers&) = delete;
    ~Readers() = default;

    /// A buffered, a direct and (where that cannot stop all others) a mapped reader look, and of the others (a pipe,
    /// io_uring, RWF_DONTCACHE, SEEK_DATA, FIEMAP) the next one. Returns when all have, or when those that have not are taken to be
    /// waiting: nothing but how many look inside the window depends on that.
    void look();

    /// Waits for all of them, when nothing is held any more. Throws what one of them threw.
    void finish(Findings& findings);
    [[nodiscard]] std::uint64_t looks() const { return done_; }
    [[nodiscard]] std::uint64_t looks_in_window() const { return in_window_; }

 private:
    /// Looks, and returns whether it was in a window.
    using Look = std::function<bool(Findings&)>;
    [[nodiscard]] Look reading(Reading reading) const;
    void start(Look look);

    std::filesystem::path path_;
    const FileContent& content_;
    Range range_;
    std::vector<Look> always_;
    std::vector<Look> in_turn_;
    std::size_t turn_ = 0;
    std::uint64_t started_ = 0;
    std::atomic<std::uint64_t> done_{0};
    std::atomic<std::uint64_t> in_window_{0};
    std::mutex mutex_;
    Findings findings_;
    std::exception_ptr error_;
    std::list<std::jthread> threads_;
};

}  // namespace holdfast
