// Data writes that the disk fails: at end of file, into a hole, into preallocated blocks, onto data.
// Contract: the writer is told; readers see zeros, or what was there, or what was written, and never anything else; a
// file does not grow by a write that failed.
#include <algorithm>
#include <array>
#include <deque>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>

#include "cases/case.h"
#include "cases/stale_data/shared/judged_read.h"
#include "fixtures/base/failure.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/ageing.h"
#include "fixtures/io/aio.h"
#include "fixtures/io/file_state.h"
#include "fixtures/io/warm_up.h"

namespace holdfast::cases {
namespace {

// How the disk fails a write: all of it, or with the first sector written.
enum class Failing { whole, torn };

struct Situation {
    const char* name;
    FileState file;
    // The block that is written to and fails.
    std::uint64_t failing;
};

std::vector<Situation> situations(std::uint64_t block) {
    using Allocation = FileState::Allocation;
    const auto written = 4 * block;
    const Range preallocated{written, 16 * block};
    return {
        {"append", {.written = written}, 4},
        {"append into preallocated blocks",
         {.written = written, .allocated = Allocation{FALLOC_FL_KEEP_SIZE, preallocated}},
         4},
        {"write into a hole", {.written = written, .truncated = 16 * block}, 8},
        {"write into preallocated blocks", {.written = written, .allocated = Allocation{0, preallocated}}, 8},
        {"overwrite", {.written = written}, 1},
    };
}

class FailedWrites {
 public:
    explicit FailedWrites(Experiment& experiment)
        : experiment_(experiment),
          disk_(experiment.held_disk()->served()),
          block_(direct_write_unit(experiment.filesystem())) {}

    void run() {
        for (const auto& situation : situations(block_))
            for (const auto failing : {Failing::whole, Failing::torn}) fail_direct(situation, failing);
        experiment_.filesystem().remount();
        for (const auto& content : contents_) judge_whole_file(path(content), content, findings_);
        grow_all();
        fail_first_of_many();
        for (const auto& situation : situations(block_)) fail_buffered(situation);
        experiment_.filesystem().remount();
        settle_failed_writeback();
        for (const auto& content : contents_) judge_whole_file(path(content), content, findings_);
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

    // False where the filesystem has no such state.
    bool prepare(const File& file, const FileState& state) {
        auto& content = contents_.back();
        const int error = bring_into(file, state, {content.file(), 1});
        if (error == EOPNOTSUPP) {
            std::filesystem::remove(file.path());
            contents_.pop_back();
            return false;
        }
        if (error != 0) throw SystemFailure("fallocate of " + file.path().string(), error);
        expect_state(content, state, 1);
        file.sync();
        return true;
    }

    void fail_direct(const Situation& situation, Failing failing) {
        auto& content = contents_.emplace_back(static_cast<std::uint32_t>(contents_.size() + 1));
        const auto file = File::create(path(content), O_DIRECT);
        if (!prepare(file, situation.file)) return;
        const Range range{situation.failing * block_, (situation.failing + 1) * block_};
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
        note_answer(situation.name, result);
        if (result == static_cast<std::int64_t>(range.length())) {
            content.acknowledge(range, 2);
            return judge_whole_file(path(content), content, findings_);
        }
        content.give_up(range, 2);
        if (const auto after = file.size(); after != size)
            wrong_sizes_.push_back(fmt::format("{} bytes after a failed {}, {} before", after, situation.name, size));
        judge_whole_file(path(content), content, findings_);
    }

    // A write over several extents goes out as several requests, of which only the first fails.
    void fail_first_of_many() {
        auto& content = contents_.emplace_back(static_cast<std::uint32_t>(contents_.size() + 1));
        const auto file = File::create(path(content), O_DIRECT);
        if (!prepare(file, {.written = 16 * block_})) return;
        constexpr int punch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
        for (std::uint64_t block = 1; block < 16; block += 2)
            if (file.fallocate(punch, block * block_, block_) == 0)
                content.zeroed({block * block_, (block + 1) * block_});
        file.sync();
        const Range range{0, 16 * block_};
        const auto bytes = data(range, 2);
        content.submit(range, 2);
        const auto rule = disk_.add_rule(
            {.filter = RequestFilter::data_writes(), .action = RuleAction::fail, .error = EIO, .times = 1});
        AioContext aio{1};
        std::array request{prepare_write(file, range.begin, bytes.bytes())};
        aio.submit(request);
        const auto result = aio.wait().front().result;
        disk_.remove_rule(rule);
        content.give_up(range, 2);
        // Whether the part before the failure or nothing is said to be written: but never all of it.
        if (result == static_cast<std::int64_t>(range.length()))
            wrong_answers_.push_back(fmt::format("{} for a write of which the first request failed", result));
        judge_whole_file(path(content), content, findings_);
    }

    // What a failed write has left behind the end of file must not show when the file grows.
    void grow_all() {
        for (auto& content : contents_) {
            const auto file = File::open(path(content), O_RDWR);
            const auto size = file.size() + 64 * KiB;
            file.truncate(size);
            content.resized(size);
            judge_whole_file(path(content), content, findings_);
        }
    }

    // Last: on some filesystems it ends all writing.
    void fail_buffered(const Situation& situation) {
        auto& content = contents_.emplace_back(static_cast<std::uint32_t>(contents_.size() + 1));
        const auto file = File::create(path(content));
        if (!prepare(file, situation.file)) return;
        const Range range{situation.failing * block_, (situation.failing + 1) * block_};
        content.submit(range, 2);
        file.write_at(range.begin, data(range, 2).bytes());
        const auto rule =
            disk_.add_rule({.filter = RequestFilter::data_writes(), .action = RuleAction::fail, .error = EIO});
        try {
            file.sync();
            note_answer(fmt::format("fsync of a buffered {}", situation.name), 0);
        } catch (const SystemFailure& failure) {
            note_answer(fmt::format("fsync of a buffered {}", situation.name), -failure.error());
        }
        disk_.remove_rule(rule);
        content.give_up(range, 2);
        const auto before = size_of(situation.file);
        failed_writeback_.push_back({&content, {before, std::max(before, range.end)}});
    }

    // Whether the end of file that a failed write-back was to move is where it was before or after it, only the disk knows.
    void settle_failed_writeback() {
        for (const auto& [content, sizes] : failed_writeback_) {
            const auto size = File::open(path(*content), O_RDONLY).size();
            if (std::ranges::find(sizes, size) == sizes.end())
                wrong_sizes_.push_back(fmt::format("{} bytes after a failed write-back", size));
            content->settle(size);
        }
    }

    void note_answer(const std::string& what, std::int64_t result) {
        if (result == -EIO) return;
        wrong_answers_.push_back(fmt::format(
            "{} for a failed {}", result < 0 ? error_name(static_cast<int>(-result)) : std::to_string(result), what));
    }

    Experiment& experiment_;
    ServedDisk& disk_;
    std::uint64_t block_;
    std::deque<FileContent> contents_;
    Findings findings_;
    std::vector<std::pair<FileContent*, std::array<std::uint64_t, 2>>> failed_writeback_;
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
        "lets the disk fail writes and looks at what readers then see, at the size, and at what the writer is "
        "told",
    .method =
        "On an aged disk on which every sector says where it came from, direct asynchronous writes at end of "
        "file, into preallocated blocks behind and below it, into a hole and onto data are failed by the disk "
        "with EIO, once as a whole and once with their first sector written. The file must not have grown, the "
        "writer must be told, and every reader, also after a remount, must find zeros, the old data or the new. "
        "In the end a buffered overwrite is failed, of which fsync must tell.",
    .needs = {{"feature", "aio"}},
    .disk = DiskNeed::held,
    .fails_io = true,
    .run = run,
};

}  // namespace holdfast::cases
