// Data writes that the disk fails: at end of file, into a hole, into preallocated blocks, onto data.
// Contract: the writer is told; readers see zeros, or what was there, or what was written, and never anything else; a
// file does not grow by a write that failed.
#include <array>
#include <deque>

#include <fcntl.h>
#include <fmt/format.h>

#include "cases/stale_data/shared/judged_read.h"
#include "cases/stale_data/shared/window.h"
#include "fixtures/base/failure.h"
#include "fixtures/io/ageing.h"
#include "fixtures/io/aio.h"
#include "fixtures/io/warm_up.h"

namespace holdfast::cases {
namespace {

// How the disk fails a write: all of it, or with the first sector written.
enum class Failing { whole, torn };

struct State {
    const char* name;
    // In blocks: what is written before, what is preallocated from there on with which mode, where the end of file then is
    // moved to (0: nowhere), and the block that is written to and fails.
    std::uint64_t written;
    std::uint64_t allocated;
    int mode;
    std::uint64_t truncated;
    std::uint64_t failing;
};

constexpr std::array states{
    State{"append", 4, 0, 0, 0, 4},
    State{"append into preallocated blocks", 4, 12, FALLOC_FL_KEEP_SIZE, 0, 4},
    State{"write into a hole", 4, 0, 0, 16, 8},
    State{"write into preallocated blocks", 4, 12, 0, 0, 8},
    State{"overwrite", 4, 0, 0, 0, 1},
};

class FailedWrites {
 public:
    explicit FailedWrites(Experiment& experiment)
        : experiment_(experiment),
          disk_(experiment.held_disk()->served()),
          block_(direct_write_unit(experiment.filesystem())) {}

    void run() {
        for (const auto& state : states)
            for (const auto failing : {Failing::whole, Failing::torn}) fail_direct(state, failing);
        experiment_.filesystem().remount();
        for (const auto& content : contents_) judge_whole_file(path(content), content, findings_);
        fail_buffered();
        observe_findings(experiment_, findings_);
        experiment_.observe("sizes", wrong_sizes_.empty() ? "right" : wrong_sizes_.front(), {{"all", wrong_sizes_}});
        experiment_.observe("answers", wrong_answers_.empty() ? "EIO" : wrong_answers_.front(),
                            {{"all", wrong_answers_}});
    }

 private:
    std::filesystem::path path(const FileContent& content) const {
        return experiment_.filesystem().root() / fmt::format("file-{}", content.file());
    }
    AlignedBuffer data(Range range, std::uint32_t generation) const {
        AlignedBuffer bytes{range.length()};
        fill_data(bytes.bytes(), {contents_.back().file(), generation}, range.begin);
        return bytes;
    }

    void write_acknowledged(const File& file, Range range) {
        contents_.back().submit(range, 1);
        file.write_at(range.begin, data(range, 1).bytes());
        contents_.back().acknowledge(range, 1);
    }

    // False where the filesystem has no such state.
    bool prepare(const File& file, const State& state) {
        const auto end = state.written * block_;
        write_acknowledged(file, {0, end});
        if (state.allocated > 0) {
            const int error = file.fallocate(state.mode, end, state.allocated * block_);
            if (error == EOPNOTSUPP) return false;
            if (error != 0) throw SystemFailure("fallocate of " + file.path().string(), error);
        }
        if (state.truncated > 0) file.truncate(state.truncated * block_);
        contents_.back().resized(file.size());
        file.sync();
        return true;
    }

    void fail_direct(const State& state, Failing failing) {
        auto& content = contents_.emplace_back(static_cast<std::uint32_t>(contents_.size() + 1));
        const auto file = File::create(path(content), O_DIRECT);
        if (!prepare(file, state)) return;
        const Range range{state.failing * block_, (state.failing + 1) * block_};
        const auto bytes = data(range, 2);
        const auto size = file.size();
        content.submit(range, 2);
        const auto rule = disk_.add_rule({.filter = RequestFilter::data_writes(),
                                          .action = failing == Failing::torn ? RuleAction::tear : RuleAction::fail,
                                          .error = EIO,
                                          .bytes = failing == Failing::torn ? sector_size : 0});
        AioContext aio{1};
        std::array request{prepare_write(file, range.begin, bytes.bytes())};
        aio.submit(request);
        const auto result = aio.wait().front().result;
        disk_.remove_rule(rule);
        note_answer(state.name, result);
        if (result == static_cast<std::int64_t>(range.length()))
            content.acknowledge(range, 2);
        else if (const auto after = file.size(); after != size)
            wrong_sizes_.push_back(fmt::format("{} bytes after a failed {}, {} before", after, state.name, size));
        judge_whole_file(path(content), content, findings_);
    }

    // Last: on some filesystems it ends all writing.
    void fail_buffered() {
        auto& content = contents_.emplace_back(static_cast<std::uint32_t>(contents_.size() + 1));
        const auto file = File::create(path(content));
        write_acknowledged(file, {0, 4 * block_});
        file.sync();
        const Range range{block_, 2 * block_};
        content.submit(range, 2);
        file.write_at(range.begin, data(range, 2).bytes());
        const auto rule =
            disk_.add_rule({.filter = RequestFilter::data_writes(), .action = RuleAction::fail, .error = EIO});
        try {
            file.sync();
            note_answer("fsync of a buffered write", 0);
        } catch (const SystemFailure& failure) {
            note_answer("fsync of a buffered write", -failure.error());
        }
        disk_.remove_rule(rule);
    }

    void note_answer(const char* what, std::int64_t result) {
        if (result == -EIO) return;
        wrong_answers_.push_back(fmt::format(
            "{} for a failed {}", result < 0 ? error_name(static_cast<int>(-result)) : std::to_string(result), what));
    }

    Experiment& experiment_;
    ServedDisk& disk_;
    std::uint64_t block_;
    std::deque<FileContent> contents_;
    Findings findings_;
    std::vector<std::string> wrong_sizes_;
    std::vector<std::string> wrong_answers_;
};

void run(Experiment& experiment) {
    age(experiment.filesystem().root(), 4 * MiB, experiment.seed());
    warm_up(experiment.filesystem().root());
    FailedWrites{experiment}.run();
}

}  // namespace

extern const Case stale_data_failed_write;
const Case stale_data_failed_write{
    .name = "stale_data.failed_write",
    .summary =
        "lets the disk fail writes and looks at what readers then see, at the size, and at what the writer is told",
    .method =
        "On an aged disk on which every sector says where it came from, direct asynchronous writes at end of file, "
        "into "
        "preallocated blocks behind and below it, into a hole and onto data are failed by the disk with EIO, once as a "
        "whole and once with their first sector written. The file must not have grown, the writer must be told, and "
        "every "
        "reader, also after a remount, must find zeros, the old data or the new. In the end a buffered overwrite is "
        "failed, "
        "of which fsync must tell.",
    .needs = {{"feature", "aio"}},
    .disk = DiskNeed::held,
    .fails_io = true,
    .run = run,
};

}  // namespace holdfast::cases
