// Writeback that the disk fails: at end of file, into a hole, into preallocated blocks, onto data.
// Contract: fsync tells, once, everyone who had the file open; readers then see zeros, or what was there, or what was
// written, and never anything else; what is written again and synced is durable.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>

#include "cases/case.h"
#include "cases/stale_data/shared/failing_files.h"
#include "fixtures/base/failure.h"
#include "fixtures/io/ageing.h"
#include "fixtures/io/warm_up.h"

namespace holdfast::cases {
namespace {

std::int64_t answer_of_sync(const File& file) {
    try {
        file.sync();
        return 0;
    } catch (const SystemFailure& failure) {
        return -failure.error();
    }
}

class FailedWriteback {
 public:
    explicit FailedWriteback(Experiment& experiment) : experiment_(experiment), files_(experiment) {}

    void run() {
        fail_all();
        experiment_.filesystem().remount();
        settle_sizes();
        files_.judge_all();
        files_.observe();
    }

 private:
    // One failure may end all writing (ext4, data_err=abort); what was asked for before is judged all the same.
    void fail_all() {
        try {
            for (const auto& write : failing_writes(files_.block())) fail(write);
        } catch (const SystemFailure& failure) {
            if (failure.error() != EROFS) throw;
        }
    }

    void fail(const FailingWrite& write) {
        auto* const content = files_.create(write.file);
        if (content == nullptr) return;
        const auto file = File::open(files_.path(*content), O_RDWR);
        const auto other = File::open(files_.path(*content), O_RDONLY);
        const Range range{write.block * files_.block(), (write.block + 1) * files_.block()};
        content->submit(range, 2);
        file.write_at(range.begin, FailingFiles::data(*content, range, 2).bytes());
        const auto rule =
            files_.disk().add_rule({.filter = RequestFilter::data_writes(), .action = RuleAction::fail, .error = EIO});
        files_.note_answer(fmt::format("fsync of a buffered {}", write.name), answer_of_sync(file));
        files_.disk().remove_rule(rule);
        files_.note_answer(fmt::format("fsync of a buffered {} by another descriptor", write.name),
                           answer_of_sync(other));
        content->give_up(range, 2);
        const auto before = size_of(write.file);
        sizes_.push_back({content, {before, std::max(before, range.end)}});
    }

    // Whether the end of file that a failed writeback was to move is where it was before or after it, only the disk knows.
    void settle_sizes() {
        for (const auto& [content, sizes] : sizes_) {
            const auto size = File::open(files_.path(*content), O_RDONLY).size();
            if (std::ranges::find(sizes, size) == sizes.end())
                files_.note_wrong_size(fmt::format("{} bytes after a failed writeback", size));
            content->settle(size);
        }
    }

    Experiment& experiment_;
    FailingFiles files_;
    std::vector<std::pair<FileContent*, std::array<std::uint64_t, 2>>> sizes_;
};

void run(Experiment& experiment) {
    age(experiment.filesystem().root(), 4 * MiB, experiment.seed());
    warm_up(experiment.filesystem().root());
    FailedWriteback{experiment}.run();
}

}  // namespace

extern const Case stale_data_failed_writeback;
const Case stale_data_failed_writeback{
    .name = "stale_data.failed_writeback",
    .summary = "lets the disk fail writeback and looks at what fsync tells, and at what readers see after a remount",
    .method =
        "On an aged disk on which every sector says where it came from, writes through the page cache at end of file, "
        "into preallocated blocks behind and below it, into a hole and onto data are failed by the disk with EIO when "
        "they are written back. fsync must tell, and that of another descriptor that was open at the time as well; "
        "after a remount every reader must find zeros, the old data or the new, and a size from before or after.",
    .disk = DiskNeed::held,
    .fails_io = true,
    .run = run,
};

}  // namespace holdfast::cases
