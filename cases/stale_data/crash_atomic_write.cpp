// Cuts the power around writes with RWF_ATOMIC.
// Contract: after a power cut at any moment, all of such a write is there or nothing of it (pwritev2(2), RWF_ATOMIC; statx(2),
// stx_atomic_write_unit_max), whatever was there before; and what a sync promised is there.
#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cases/stale_data/shared/crash.h"
#include "fixtures/base/failure.h"

namespace holdfast::cases {
namespace {

using File = CrashTest::WrittenFile;

constexpr auto area = 256 * KiB;
constexpr auto largest = 64 * KiB;

class AtomicWrites {
 public:
    AtomicWrites(Experiment& experiment, const AtomicLimits& limits)
        : experiment_(experiment),
          test_(experiment),
          least_(limits.least),
          most_(std::min<std::uint64_t>(limits.most, largest)) {}

    void run() {
        const auto files = prepare();
        // What was prepared is in no power cut.
        (void)test_.create();
        for (auto* const file : files) {
            write(*file, 0, most_);
            file->fdatasync();
            write(*file, area / 2, most_);
            write(*file, area / 2 + 2 * most_, least_);
            if (file->size() == area) write(*file, area, most_);
            file->fdatasync();
            // Once more over what one of them has written.
            write(*file, 0, most_);
        }
        cut_inside();
        test_.cut_power();
        experiment_.observe({.name = "torn",
                             .value = test_.torn().size(),
                             .unit = "writes",
                             .evidence = {{"first", test_.torn().empty() ? std::string{} : test_.torn().front()},
                                          {"written", written_},
                                          {"log", log_of_writes_}}});
        experiment_.observe("answers", wrong_.empty() ? "right" : wrong_.front(), {{"all", wrong_}});
    }

 private:
    std::vector<File*> prepare() {
        auto& data = test_.create();
        auto& pieces = test_.create();
        // Woven, so that both lie in many extents, and what is written in place is many requests to the disk.
        for (std::uint64_t at = 0; at < area; at += 2 * least_) {
            data.write_direct({at, at + least_});
            pieces.write_direct({at, at + least_});
            data.write_direct({at + least_, at + 2 * least_});
        }
        pieces.truncate(area);
        auto& hole = test_.create();
        hole.truncate(area);
        std::vector<File*> files{&data, &pieces, &hole};
        auto& unwritten = test_.create();
        if (unwritten.allocate(0, {0, area})) files.push_back(&unwritten);
        auto& shared = test_.create();
        if (shared.clone(data)) files.push_back(&shared);
        for (auto* const file : files) file->fsync();
        return files;
    }

    // In the middle of what each of them has had written.
    void cut_inside() {
        const auto log = test_.disk().served().log();
        std::mt19937_64 random{experiment_.seed()};
        for (const auto& [begin, end] : log_of_writes_)
            if (end - begin > 1) test_.cut_power_at(log, (begin + end) / 2, Kept::all, random);
    }

    void write(File& file, std::uint64_t offset, std::uint64_t length) {
        const auto way = all_atomic_ways.at(written_ % all_atomic_ways.size());
        const auto begin = test_.disk().served().log_length();
        auto result = file.write_atomically(way, {offset, offset + length});
        if (result == -EOPNOTSUPP) result = file.write_atomically(AtomicWay::call, {offset, offset + length});
        if (result != static_cast<std::int64_t>(length))
            wrong_.push_back(fmt::format("{} gave {} of {} bytes", describe(way),
                                         result < 0 ? error_name(static_cast<int>(-result)) : std::to_string(result),
                                         length));
        log_of_writes_.emplace_back(begin, test_.disk().served().log_length());
        ++written_;
    }

    Experiment& experiment_;
    CrashTest test_;
    std::uint64_t least_;
    std::uint64_t most_;
    std::uint64_t written_ = 0;
    /// The lengths of the disk's log before and after each.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> log_of_writes_;
    std::vector<std::string> wrong_;
};

void run(Experiment& experiment) {
    const auto probe = holdfast::File::create(experiment.filesystem().root() / "probe");
    const auto limits = atomic_limits(probe);
    if (!limits) experiment.skip("statx(2) offers no writes with RWF_ATOMIC here");
    AtomicWrites{experiment, *limits}.run();
}

}  // namespace

extern const Case stale_data_crash_atomic_write;
const Case stale_data_crash_atomic_write{
    .name = "stale_data.crash_atomic_write",
    .summary = "cuts the power around writes with RWF_ATOMIC, and looks for parts of them",
    .method =
        "On an aged disk on which every sector says where it came from, writes with RWF_ATOMIC, of the smallest size "
        "that statx offers and of 64 KiB (or the largest), by pwritev2, io_submit and io_uring, go onto data that lies "
        "in many pieces, data and holes in turn, a hole, preallocated and shared blocks, to the end of file, and onto "
        "one another, some of them synced. Then, in the middle of each and at many points of the disk's log, a disk is "
        "made that has what was written up to there, or only what was promised, or that lost other parts of what no "
        "flush had covered; each is mounted, so that the filesystem recovers, is read and checked by fsck. Of each "
        "write all must be there or nothing.",
    .needs = {{"feature", "aio"}},
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
