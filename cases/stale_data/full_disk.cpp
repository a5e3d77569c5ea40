// Writes until the disk is full, in several ways.
// Contract: what a write has returned as written is there, after a sync and a remount too; a write for which there is no more
// space returns fewer bytes or ENOSPC and moves the end of file by just what it returned; what it did not write reads as
// zeros (write(2); fsync(2): space that was promised to data in memory is there).
#include <algorithm>
#include <array>
#include <cerrno>
#include <random>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "cases/fallocate/shared/space.h"
#include "cases/stale_data/shared/judged_read.h"
#include "fixtures/base/aligned_buffer.h"
#include "fixtures/base/failure.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/ageing.h"
#include "fixtures/io/aio.h"
#include "fixtures/io/file.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {

using namespace holdfast::fallocate;

namespace {

constexpr std::uint64_t left_for_each = 4 * MiB;
constexpr std::uint64_t largest_write = 256 * KiB;

enum class Call { buffered, dsync, direct, aio };
struct Way {
    const char* name;
    Call call;
    /// Into a hole below the end of file, not at it.
    bool into_hole;
};
constexpr std::array ways{
    Way{"buffered appends", Call::buffered, false},         Way{"buffered writes into a hole", Call::buffered, true},
    Way{"appends with RWF_DSYNC", Call::dsync, false},      Way{"direct appends", Call::direct, false},
    Way{"direct writes into a hole", Call::direct, true},   Way{"appends by io_submit", Call::aio, false},
    Way{"writes into a hole by io_submit", Call::aio, true}};

// Bytes, or a negative errno.
std::int64_t write(const File& file, Call call, std::uint64_t offset, std::span<const std::byte> bytes) {
    if (call == Call::aio) {
        AioContext context{1};
        std::array request{prepare_write(file, offset, bytes)};
        const int taken = context.try_submit(request);
        return taken == 1 ? context.wait().front().result : taken;
    }
    const iovec vector{const_cast<std::byte*>(bytes.data()), bytes.size()};
    const auto count =
        ::pwritev2(file.descriptor(), &vector, 1, static_cast<off_t>(offset), call == Call::dsync ? RWF_DSYNC : 0);
    return count < 0 ? -errno : count;
}

class FullDisk {
 public:
    explicit FullDisk(Experiment& experiment)
        : experiment_(experiment),
          root_(experiment.filesystem().root()),
          unit_(direct_write_unit(experiment.filesystem())),
          random_(experiment.seed()) {
        age(root_, 4 * MiB, experiment.seed());
        const auto units = allocation_units(experiment.filesystem());
        fill_but(File::create(root_ / "ballast"), left_for_each, units, experiment.recipe().size);
    }

    void run() {
        std::uint32_t number = 0;
        for (const auto& way : ways) fill_by(way, ++number);
        observe_findings(experiment_, findings_, {{"full", full_}});
        experiment_.observe("answers", wrong_.empty() ? "right" : wrong_.front(), {{"all", wrong_}});
    }

 private:
    void fill_by(const Way& way, std::uint32_t number) {
        const auto path = root_ / fmt::format("file-{}", number);
        FileContent content{number};
        {
            const auto file = File::create(path, way.call == Call::direct || way.call == Call::aio ? O_DIRECT : 0);
            if (way.into_hole) {
                file.truncate(2 * left_for_each);
                content.resized(2 * left_for_each);
            }
            write_until_full(file, way, content);
            file.sync();  // what is in memory has its space
        }
        judge_whole_file(path, content, findings_);
        experiment_.filesystem().remount();
        judge_whole_file(path, content, findings_);
        std::filesystem::remove(path);
        File::open(root_ / "ballast", O_RDONLY).sync_filesystem();
    }

    void write_until_full(const File& file, const Way& way, FileContent& content) {
        std::uint32_t generation = 0;
        for (std::uint64_t at = 0; at < 2 * left_for_each;) {
            const Range range{at, std::min(at + unit_ * (1 + random_() % (largest_write / unit_)), 2 * left_for_each)};
            const auto size = file.size();
            AlignedBuffer data{range.length()};
            fill_data(data.bytes(), {content.file(), ++generation}, range.begin);
            const auto result = write(file, way.call, range.begin, data.bytes());
            const auto written = static_cast<std::uint64_t>(std::max<std::int64_t>(result, 0));
            settle(content, range, written, generation);
            judge_answer(way, result, range, size, file.size());
            if (written < range.length()) {
                ++full_;
                return;
            }
            at = range.end;
        }
        wrong_.push_back(
            fmt::format("{}: {} bytes were written where {} were left", way.name, 2 * left_for_each, left_for_each));
    }

    // Nobody reads meanwhile, so that what was returned can be told apart from the rest afterwards.
    static void settle(FileContent& content, Range range, std::uint64_t written, std::uint32_t generation) {
        const Range there{range.begin, range.begin + written};
        if (written > 0) {
            content.submit(there, generation);
            content.acknowledge(there, generation);
        }
        if (there.end == range.end) return;
        content.submit({there.end, range.end}, generation);
        content.give_up({there.end, range.end}, generation);
    }

    void judge_answer(const Way& way, std::int64_t result, Range range, std::uint64_t size_before,
                      std::uint64_t size_after) {
        if (result < 0 && result != -ENOSPC)
            wrong_.push_back(fmt::format("{}: {}", way.name, error_name(static_cast<int>(-result))));
        const auto end = range.begin + static_cast<std::uint64_t>(std::max<std::int64_t>(result, 0));
        if (const auto expected = std::max(size_before, result > 0 ? end : 0); size_after != expected)
            wrong_.push_back(fmt::format("{}: the file has {} bytes in place of {} after a write that gave {}",
                                         way.name, size_after, expected, result));
    }

    Experiment& experiment_;
    std::filesystem::path root_;
    std::uint64_t unit_;
    std::mt19937_64 random_;
    Findings findings_;
    std::vector<std::string> wrong_;
    unsigned full_ = 0;
};

void run(Experiment& experiment) { FullDisk{experiment}.run(); }

}  // namespace

extern const Case stale_data_full_disk;
const Case stale_data_full_disk{
    .name = "stale_data.full_disk",
    .summary = "writes until the disk is full, and looks for what was written, for stale data and for wrong sizes",
    .method =
        "On an aged disk with 4 MiB left, a file grows or has a hole filled by writes of random length until one gets "
        "fewer bytes or ENOSPC: through the page cache, with RWF_DSYNC, directly, by io_submit. The end of file may "
        "have moved by just what was returned, fsync must find room for all that is in memory, and what was returned "
        "as written must be there for every reader, also after a remount; the rest must be zeros.",
    .disk = DiskNeed::poisoned,
    .run = run,
};

}  // namespace holdfast::cases
