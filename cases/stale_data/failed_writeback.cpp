// Writeback that the disk fails: at end of file, into a hole, into preallocated blocks, onto data, also of a shared block.
// Contract: fsync tells everyone who had the file open, once, and where nobody had asked yet, also who opens it later
// (fsync(2), errseq_t in Documentation/core-api/errseq.rst); so does every other call that promises what was written; readers
// then see zeros, or what was there, or what was written, and never anything else.
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
#include "fixtures/io/sync_way.h"
#include "fixtures/io/warm_up.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {
namespace {

// 0 or a negative errno.
std::int64_t answer_of(const auto& call) {
    try {
        call();
        return 0;
    } catch (const SystemFailure& failure) {
        return -failure.error();
    }
}
std::int64_t answer_of_sync(const File& file) {
    return answer_of([&] { file.sync(); });
}
std::int64_t answer_of_syncfs(const File& file) {
    return answer_of([&] { file.sync_filesystem(); });
}

Rule failing_data() { return {.filter = RequestFilter::data_writes(), .action = RuleAction::fail, .error = EIO}; }

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
            for (const auto& write : failing_writes(files_.block())) {
                fail(write);
                fail_unasked(write);
            }
            for (const auto way : all_sync_ways) fail_by(way);
            fail_one_of_many();
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
        const auto rule = files_.disk().add_rule(failing_data());
        files_.note_answer(fmt::format("fsync of a buffered {}", write.name), answer_of_sync(file));
        files_.disk().remove_rule(rule);
        files_.note_answer(fmt::format("fsync of a buffered {} by another descriptor", write.name),
                           answer_of_sync(other));
        files_.note_late_answer(fmt::format("second fsync after a failed buffered {}", write.name),
                                answer_of_sync(file));
        gave_up(*content, write, range);
    }

    // Written back by a syncfs(2), whose own answer is about the filesystem: so nobody has been told of this file.
    void fail_unasked(const FailingWrite& write) {
        auto* const content = files_.create(write.file);
        if (content == nullptr) return;
        const auto file = File::open(files_.path(*content), O_RDWR);
        const Range range{write.block * files_.block(), (write.block + 1) * files_.block()};
        content->submit(range, 2);
        file.write_at(range.begin, FailingFiles::data(*content, range, 2).bytes());
        const auto rule = files_.disk().add_rule(failing_data());
        files_.note_answer(fmt::format("syncfs of a buffered {}", write.name), answer_of_syncfs(file));
        files_.disk().remove_rule(rule);
        files_.note_late_answer(fmt::format("second syncfs after a failed buffered {}", write.name),
                                answer_of_syncfs(file));
        const auto later = File::open(files_.path(*content), O_RDWR);
        files_.note_answer(fmt::format("fsync of a buffered {}, opened after it had failed", write.name),
                           answer_of_sync(later));
        files_.note_answer(fmt::format("fsync of a buffered {} after a syncfs", write.name), answer_of_sync(file));
        files_.note_late_answer(
            fmt::format("fsync by who opens the file after all were told of a failed buffered {}", write.name),
            answer_of_sync(File::open(files_.path(*content), O_RDWR)));
        gave_up(*content, write, range);
    }

    // Each call that promises what it has written has to say that it could not.
    void fail_by(SyncWay way) {
        const auto block = files_.block();
        auto* const content = files_.create({.written = 4 * block});
        const Range range{block, 2 * block};
        const auto data = FailingFiles::data(*content, range, 2);
        content->submit(range, 2);
        const auto rule = files_.disk().add_rule(failing_data());
        const auto error = write_durably(way, files_.path(*content), range.begin, data.bytes());
        files_.disk().remove_rule(rule);
        content->give_up(range, 2);
        if (error) files_.note_answer(std::string(describe(way)), -*error);
    }

    // Many blocks apart from each other are written back in as many requests: of which the first fails, or the last.
    void fail_one_of_many() {
        const auto block = files_.block();
        constexpr std::uint64_t requests = 16;
        for (const auto after : {std::uint64_t{0}, requests - 1}) {
            auto* const content = files_.create({.written = 2 * requests * block});
            const auto file = File::open(files_.path(*content), O_RDWR);
            const auto before = files_.disk().log_length();
            for (std::uint64_t i = 0; i < requests; ++i) {
                const Range range{2 * i * block, (2 * i + 1) * block};
                content->submit(range, 2);
                file.write_at(range.begin, FailingFiles::data(*content, range, 2).bytes());
                content->give_up(range, 2);
            }
            auto rule = failing_data();
            rule.after = after;
            rule.times = 1;
            const auto number = files_.disk().add_rule(rule);
            const auto answer = answer_of_sync(file);
            files_.disk().remove_rule(number);
            // Where they are not written to where they were, they may be one request.
            if (answer == 0 && after != 0 && requests_for(*content, before) < requests) continue;
            files_.note_answer(
                fmt::format("fsync of many blocks, the {} of which failed", after == 0 ? "first" : "last"), answer);
        }
    }

    // How many requests have brought data of the file to the disk since then.
    [[nodiscard]] std::uint64_t requests_for(const FileContent& content, std::uint64_t since) {
        const auto log = files_.disk().log();
        return static_cast<std::uint64_t>(
            std::count_if(log.begin() + static_cast<std::ptrdiff_t>(since), log.end(), [&](const LogEntry& entry) {
                if (entry.content.size() < sector_size) return false;
                const auto identity = identify(std::span{entry.content}.first<sector_size>());
                const auto* const data = std::get_if<Data>(&identity);
                return data != nullptr && data->tag.file == content.file();
            }));
    }

    void gave_up(FileContent& content, const FailingWrite& write, Range range) {
        content.give_up(range, 2);
        const auto before = size_of(write.file);
        sizes_.push_back({&content, {before, std::max(before, range.end)}});
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
        "into preallocated blocks behind and below it, into a hole, onto data and onto data shared with a clone are "
        "failed by the disk with EIO when "
        "they are written back. fsync must tell, and that of another descriptor that was open at the time as well, and "
        "each once; where only syncfs was told, also who opens the file later; so must every call that promises what "
        "was written (O_DSYNC, msync, io_submit, io_uring), also where one request of many fails; after a remount "
        "every reader must find zeros, the old data or the new (in the clone, the old), and a size from before or "
        "after.",
    .disk = DiskNeed::held,
    .fails_io = true,
    .run = run,
};

}  // namespace holdfast::cases
