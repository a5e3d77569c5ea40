// Flushes and writes of metadata that the disk fails while something is to be made durable.
// Contract: no call that promises what was written succeeds (fsync(2), msync(2), open(2): O_SYNC and O_DSYNC); what had been
// promised before is there after a remount.
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>

#include "cases/case.h"
#include "cases/stale_data/shared/judged_read.h"
#include "fixtures/base/failure.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/ageing.h"
#include "fixtures/io/sync_way.h"
#include "fixtures/io/warm_up.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {
namespace {

constexpr std::uint32_t number = 1;
constexpr const char* name = "file";

struct Failing {
    const char* name;
    bool flushes;
    bool writes;
    /// Appends: otherwise overwrites, for which there may be nothing but data to write.
    bool append;
};

class FailedSync {
 public:
    explicit FailedSync(Experiment& experiment)
        : experiment_(experiment), unit_(direct_write_unit(experiment.filesystem())), data_(4 * unit_) {
        const auto& root = experiment.filesystem().root();
        age(root, 4 * MiB, experiment.seed());
        warm_up(root);
        fill_data(data_, {number, 1}, 0);
        const auto file = File::create(root / name);
        file.write_at(0, data_);
        file.sync_filesystem();
        for (const auto& entry : experiment.held_disk()->served().log()) all_.push_back(entry.sequence);
    }

    void run() {
        // What a syncfs has to make durable where only data was written, stale_data.crash_syncfs asks.
        for (const auto way : all_sync_ways)
            if (way != SyncWay::syncfs) fail(way, {"every flush while it overwrites", true, false, false});
        for (const auto way : {SyncWay::fsync, SyncWay::syncfs, SyncWay::o_dsync, SyncWay::direct_aio}) {
            fail(way, {"every flush while it appends", true, false, true});
            fail(way, {"every write while it appends", false, true, true});
        }
        observe_findings(experiment_, findings_, {{"tried", tried_}});
        experiment_.observe("answers", wrong_.empty() ? "errors" : wrong_.front(), {{"all", wrong_}});
        experiment_.observe("unmountable", unmountable_.size(),
                            {{"first", unmountable_.empty() ? std::string{} : unmountable_.front()}});
    }

 private:
    // On a copy of the filesystem, since a failure may be the end of it.
    void fail(SyncWay way, const Failing& failing) {
        const auto what = fmt::format("{}, of which the disk fails {}", describe(way), failing.name);
        try {
            DisposableFilesystem copy{experiment_.recipe(), experiment_.held_disk()->crash_state(all_)};
            auto& disk = dynamic_cast<HeldDisk&>(copy.disk()).served();
            const auto path = copy.root() / name;
            FileContent content{number};
            content.submit({0, data_.size()}, 1);
            content.acknowledge({0, data_.size()}, 1);
            write(way, failing, path, disk, content, what);
            copy.remount();
            const auto size = File::open(path, O_RDONLY).size();
            if (size < data_.size()) findings_.add_lost(fmt::format("the file has {} bytes after {}", size, what));
            content.settle(size);
            judge_whole_file(path, content, findings_);
        } catch (const Failure& failure) {
            unmountable_.push_back(fmt::format("after {}: {}", what, failure.what()));
        }
    }

    void write(SyncWay way, const Failing& failing, const std::filesystem::path& path, ServedDisk& disk,
               FileContent& content, const std::string& what) {
        const auto begin = failing.append ? data_.size() : unit_;
        const Range range{begin, begin + unit_};
        std::vector<std::byte> bytes(unit_);
        fill_data(bytes, {number, 2}, range.begin);
        content.submit(range, 2);
        const auto rule = disk.add_rule({.filter = {.writes = failing.writes, .flushes = failing.flushes},
                                         .action = RuleAction::fail,
                                         .error = EIO});
        const auto error = write_durably(way, path, range.begin, bytes);
        disk.remove_rule(rule);
        content.give_up(range, 2);
        if (!error) return;
        ++tried_;
        if (*error == 0) wrong_.push_back(fmt::format("success of {}", what));
    }

    Experiment& experiment_;
    std::uint64_t unit_;
    std::vector<std::byte> data_;
    std::vector<std::uint64_t> all_;
    Findings findings_;
    std::vector<std::string> wrong_;
    std::vector<std::string> unmountable_;
    unsigned tried_ = 0;
};

void run(Experiment& experiment) { FailedSync{experiment}.run(); }

}  // namespace

extern const Case stale_data_failed_sync;
const Case stale_data_failed_sync{
    .name = "stale_data.failed_sync",
    .summary = "lets the disk fail flushes and writes of metadata, and looks at what seventeen ways to sync tell of it",
    .method =
        "On copies of an aged filesystem, a file is overwritten and appended to in seventeen ways that promise the "
        "write: "
        "fsync, fdatasync, syncfs, msync, by io_submit, linked and drained in io_uring, O_SYNC, O_DSYNC, RWF_SYNC, "
        "RWF_DSYNC, the "
        "attribute S, and with O_DIRECT; each time the disk fails every flush, or every write. None may succeed. "
        "Afterwards the filesystem is mounted anew, and what was written and synced before must be there.",
    .needs = {{"feature", "aio"}},
    .disk = DiskNeed::held,
    .fails_io = true,
    .run = run,
};

}  // namespace holdfast::cases
