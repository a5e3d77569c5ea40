// Direct writes that the disk fails: at end of file, into a hole, into preallocated blocks, onto data, also of a shared block.
// Contract: the writer is told; readers see zeros, or what was there, or what was written, and never anything else; a
// file does not grow by a write that failed, and its clone stays as it was.
#include <array>

#include <fcntl.h>
#include <fmt/format.h>

#include "cases/case.h"
#include "cases/stale_data/shared/failing_files.h"
#include "fixtures/io/ageing.h"
#include "fixtures/io/aio.h"
#include "fixtures/io/warm_up.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {
namespace {

// How the disk fails a write: all of it, or with the first sector written.
enum class Failing { whole, torn };

// One write through io_submit while the disk keeps to the rule. Returns the event's result.
std::int64_t write_under(const Rule& rule, FailingFiles& files, const File& file, std::uint64_t offset,
                         std::span<const std::byte> bytes) {
    const auto number = files.disk().add_rule(rule);
    AioContext aio{1};
    std::array request{prepare_write(file, offset, bytes)};
    aio.submit(request);
    const auto result = aio.wait().front().result;
    files.disk().remove_rule(number);
    return result;
}

void fail_one(FailingFiles& files, const FailingWrite& write, Failing failing) {
    auto* const content = files.create(write.file);
    if (content == nullptr) return;
    const auto file = File::open(files.path(*content), O_RDWR | O_DIRECT);
    const Range range{write.block * files.block(), (write.block + 1) * files.block()};
    const auto size = file.size();
    content->submit(range, 2);
    const auto result = write_under({.filter = RequestFilter::data_writes(),
                                     .action = failing == Failing::torn ? RuleAction::tear : RuleAction::fail,
                                     .error = EIO,
                                     .bytes = failing == Failing::torn ? sector_size : 0},
                                    files, file, range.begin, FailingFiles::data(*content, range, 2).bytes());
    files.note_answer(write.name, result);
    if (result == static_cast<std::int64_t>(range.length())) {
        content->acknowledge(range, 2);
        return files.judge(*content);
    }
    content->give_up(range, 2);
    if (const auto after = file.size(); after != size)
        files.note_wrong_size(fmt::format("{} bytes after a failed {}, {} before", after, write.name, size));
    files.judge(*content);
}

// A write over several extents goes out as several requests, of which only the first fails.
void fail_first_of_many(FailingFiles& files) {
    const auto block = files.block();
    auto* const content = files.create({.written = 16 * block});
    const auto file = File::open(files.path(*content), O_RDWR | O_DIRECT);
    constexpr int punch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    for (std::uint64_t at = block; at < 16 * block; at += 2 * block)
        if (file.fallocate(punch, at, block) == 0) content->zeroed({at, at + block});
    file.sync();
    const Range range{0, 16 * block};
    content->submit(range, 2);
    const auto result =
        write_under({.filter = RequestFilter::data_writes(), .action = RuleAction::fail, .error = EIO, .times = 1},
                    files, file, range.begin, FailingFiles::data(*content, range, 2).bytes());
    content->give_up(range, 2);
    // Whether the part before the failure or nothing is said to be written: but never all of it.
    if (result == static_cast<std::int64_t>(range.length()))
        files.note_wrong_answer(fmt::format("{} for a write of which the first request failed", result));
    files.judge(*content);
}

void run(Experiment& experiment) {
    age(experiment.filesystem().root(), 4 * MiB, experiment.seed());
    warm_up(experiment.filesystem().root());
    FailingFiles files{experiment};
    const auto fail_all = [&files] {
        for (const auto& write : failing_writes(files.block()))
            for (const auto failing : {Failing::whole, Failing::torn}) fail_one(files, write, failing);
    };
    // The next mount may tidy up what a failed write has left.
    fail_all();
    files.grow_all();
    fail_all();
    experiment.filesystem().remount();
    files.judge_all();
    files.grow_all();
    fail_first_of_many(files);
    experiment.filesystem().remount();
    files.judge_all();
    files.observe();
}

}  // namespace

extern const Case stale_data_failed_write;
const Case stale_data_failed_write{
    .name = "stale_data.failed_write",
    .summary =
        "lets the disk fail direct writes and looks at what readers then see, at the size, and at what the writer is "
        "told",
    .method =
        "On an aged disk on which every sector says where it came from, direct asynchronous writes at end of file, "
        "into preallocated blocks behind and below it, into a hole, onto data and onto data shared with a clone are "
        "failed by the disk with EIO, once as a whole and once with their first sector written; then one over many "
        "extents, of whose requests the first fails. The file must not have grown, the writer must be told, and every "
        "reader, also after a remount, and after the file has grown, before the remount or after, must find zeros, "
        "the old data or the new; in the clone, the old.",
    .needs = {{"feature", "aio"}},
    .disk = DiskNeed::held,
    .fails_io = true,
    .run = run,
};

}  // namespace holdfast::cases
