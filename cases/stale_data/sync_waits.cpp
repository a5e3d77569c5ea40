// Writes that are to be made durable, in every way there is, while the disk holds their data.
// Contract: who is told that a write is durable is told so only once the disk has it (fsync(2), msync(2), open(2): O_SYNC and
// O_DSYNC, io_uring_enter(2), chattr(1): S).
#include <cerrno>
#include <functional>
#include <initializer_list>
#include <string>
#include <tuple>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "fixtures/base/failure.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/ageing.h"
#include "fixtures/io/blocking.h"
#include "fixtures/io/file_state.h"
#include "fixtures/io/sync_way.h"
#include "fixtures/io/warm_up.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {
namespace {

class SyncWaits {
 public:
    explicit SyncWaits(Experiment& experiment)
        : experiment_(experiment),
          root_(experiment.filesystem().root()),
          unit_(direct_write_unit(experiment.filesystem())) {
        age(root_, 4 * MiB, experiment.seed());
        warm_up(root_);
    }

    void run() {
        const FileState data{.written = 4 * unit_};
        const FileState hole{.written = unit_, .truncated = 4 * unit_};
        const FileState preallocated{.written = unit_, .allocated = FileState::Allocation{0, {unit_, 4 * unit_}}};
        for (const auto way : all_sync_ways) {
            look_at(way, data, unit_, "onto data");
            look_at(way, data, 4 * unit_, "at the end of the file");
            look_at(way, hole, 2 * unit_, "into a hole");
            look_at(way, preallocated, 2 * unit_, "into preallocated blocks");
        }
        for (const auto& [state, offset, where] :
             std::initializer_list<std::tuple<FileState, std::uint64_t, const char*>>{
                 {data, unit_, "onto data"},
                 {data, 4 * unit_, "at the end of the file"},
                 {hole, 2 * unit_, "into a hole"}}) {
            look_at_call("sync_file_range", state, offset, where, [&](const File& file) { return sync_range(file); });
            // Whose writeback it is, is nothing to who waits for it.
            look_at_call(
                "fsync after sync_file_range that waits for nothing", state, offset, where, [&](const File& file) {
                    checked(::sync_file_range(file.descriptor(), 0, 0, SYNC_FILE_RANGE_WRITE), "sync_file_range");
                    return ::fsync(file.descriptor()) == 0 ? 0 : errno;
                });
        }
        experiment_.observe("returns", early_.empty() ? "once the data is written" : early_.front(),
                            {{"all", early_}, {"tried", tried_}});
        experiment_.observe("answers", wrong_.empty() ? "success" : wrong_.front(), {{"all", wrong_}});
    }

 private:
    static int sync_range(const File& file) {
        const unsigned wait = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
        return ::sync_file_range(file.descriptor(), 0, 0, wait) == 0 ? 0 : errno;
    }

    // A call that waits for what was written through the page cache before.
    void look_at_call(const char* name, const FileState& state, std::uint64_t offset, const char* where,
                      const std::function<int(const File&)>& call) {
        const auto file = File::create(root_ / fmt::format("file-{}", ++files_));
        const int error = bring_into(file, state, {files_, 1});
        if (error != 0) throw SystemFailure("fallocate of " + file.path().string(), error);
        file.sync_filesystem();
        std::vector<std::byte> bytes(unit_);
        fill_data(bytes, {files_, 2}, offset);
        auto& disk = *experiment_.held_disk();
        const auto hold = disk.hold(RequestFilter::data_writes());
        file.write_at(offset, bytes);
        const WatchedCall watched{any_system_call, [&] { return static_cast<long>(call(file)); }};
        const bool waits = wait_for_return_or_block(watched, disk).has_value();
        hold->release();
        ++tried_;
        if (!waits)
            early_.push_back(fmt::format("{} of a write {} returns while the disk holds its data", name, where));
        if (const auto answer = watched.result(); answer != 0)
            wrong_.push_back(fmt::format("{} for {} {}", error_name(static_cast<int>(answer)), name, where));
    }

    void look_at(SyncWay way, const FileState& state, std::uint64_t offset, const char* where) {
        const auto path = root_ / fmt::format("file-{}", ++files_);
        {
            const auto file = File::create(path);
            const int error = bring_into(file, state, {files_, 1});
            if (error == EOPNOTSUPP) return;
            if (error != 0) throw SystemFailure("fallocate of " + path.string(), error);
            file.sync_filesystem();
        }
        std::vector<std::byte> bytes(unit_);
        fill_data(bytes, {files_, 2}, offset);
        const auto what = fmt::format("{} {}", describe(way), where);
        constexpr long not_there = -1;
        auto& disk = *experiment_.held_disk();
        const auto hold = disk.hold(RequestFilter::data_writes());
        const WatchedCall call{any_system_call, [&] {
                                   const auto error = write_durably(way, path, offset, bytes);
                                   return error ? static_cast<long>(*error) : not_there;
                               }};
        const bool waits = wait_for_return_or_block(call, disk).has_value();
        hold->release();
        const auto error = call.result();
        if (error == not_there) return;
        ++tried_;
        if (!waits) early_.push_back(fmt::format("{} returns while the disk holds its data", what));
        if (error != 0) wrong_.push_back(fmt::format("{} for {}", error_name(static_cast<int>(error)), what));
    }

    Experiment& experiment_;
    std::filesystem::path root_;
    std::uint64_t unit_;
    std::uint32_t files_ = 0;
    unsigned tried_ = 0;
    std::vector<std::string> early_;
    std::vector<std::string> wrong_;
};

void run(Experiment& experiment) { SyncWaits{experiment}.run(); }

}  // namespace

extern const Case stale_data_sync_waits;
const Case stale_data_sync_waits{
    .name = "stale_data.sync_waits",
    .summary = "asks whether any of seventeen ways to make a write durable returns while the disk holds its data",
    .method =
        "On an aged disk, files are written to, onto data, at their end, into a hole, and into preallocated blocks, "
        "each time in one of seventeen ways that promise the write: fsync, fdatasync, syncfs, msync, by io_submit, "
        "linked and drained in io_uring, O_SYNC, O_DSYNC, RWF_SYNC, RWF_DSYNC, the attribute S, and with O_DIRECT; and "
        "sync_file_range that waits, and fsync where another call has begun the writeback. The disk holds writes of "
        "data until the call has returned or is blocked; it must not have returned.",
    .needs = {{"feature", "aio"}},
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
