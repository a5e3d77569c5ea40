// Cuts the power after overwrites were synced while a commit was already under way.
// Contract: after a power cut at any moment, a reader sees zeros or data written there, and all that a sync promised.
#include <algorithm>
#include <chrono>
#include <deque>
#include <list>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cases/stale_data/shared/crash.h"
#include "fixtures/base/failure.h"
#include "fixtures/io/blocking.h"

namespace holdfast::cases {
namespace {

constexpr std::uint64_t most_overwrites = 12;
constexpr std::uint64_t begun_before = 4;

void let_go_until_returned(HeldDisk& disk, const WatchedCall& call) {
    while (wait_for_return_or_block(call, disk)) disk.served().let_go_all();
}

// Only its own data, if it can do with that: a write may have to wait for the log as well, to change the file's times.
void let_go_data_until_returned(HeldDisk& disk, const WatchedCall& call) {
    while (wait_for_return_or_block(call, disk)) {
        std::vector<std::uint64_t> data;
        for (const auto& request : disk.served().held())
            if (request.data) data.push_back(request.ticket);
        if (data.empty())
            disk.served().let_go_all();
        else
            disk.served().let_go(data);
    }
}

bool is_new(const HeldRequest& request, const std::vector<HeldRequest>& before) {
    return !request.data && std::ranges::find(before, request.ticket, &HeldRequest::ticket) == before.end();
}

// Lets go what the commit has under way, and waits until it has come to its next request. Where that does not come, there is
// one overwrite less in the middle of a commit.
void let_commit_go_on(ServedDisk& disk, const std::vector<HeldRequest>& under_way, const WatchedCall& commit) {
    constexpr int most_looks = 500;
    std::vector<std::uint64_t> tickets;
    for (const auto& request : under_way)
        if (!request.data) tickets.push_back(request.ticket);
    disk.let_go(tickets);
    for (int look = 0; look < most_looks && !commit.returned(); ++look) {
        const auto held = disk.held();
        if (std::ranges::any_of(held, [&](const auto& request) { return is_new(request, under_way); })) return;
        std::this_thread::sleep_for(std::chrono::milliseconds{2});
    }
}

// An overwrite that the disk holds, and its ticket there.
struct Overwrite {
    const WatchedCall* call;
    std::uint64_t ticket;
    /// How many calls there were with it.
    std::size_t calls = 0;
};

// Has changed the file's times already, so that it has nothing to do with the log any more when its data is written.
std::optional<Overwrite> begin_overwrite(HeldDisk& disk, const WatchedCall& call) {
    (void)wait_for_return_or_block(call, disk);
    std::optional<Overwrite> last;
    for (const auto& request : disk.served().held())
        if (request.data && (!last || request.ticket > last->ticket)) last = Overwrite{&call, request.ticket};
    return last;
}

void let_go_until_returned(HeldDisk& disk, const Overwrite& overwrite) {
    disk.served().let_go(std::span{&overwrite.ticket, 1});
    while (wait_for_return_or_block(*overwrite.call, disk)) {
    }
}

void run(Experiment& experiment) {
    CrashTest test{experiment};
    auto& file = test.create();
    file.write_direct({0, 256 * KiB});
    file.fsync();
    std::uint64_t next = 0;
    {
        const auto synced = File::open(file.path(), O_RDWR);
        // Overwrites that are under way are not promised by it.
        const auto sync_first = [&](std::size_t calls) {
            checked(::fdatasync(synced.descriptor()), "fdatasync of " + file.path().string());
            file.promise_first(calls);
            return 0L;
        };
        std::list<WatchedCall> syncs;
        // A flush covers what the disk had when it arrived, so that it may come too early for an overwrite.
        const auto hold = test.disk().hold({.writes = true, .flushes = true});
        // Its blocks are there, but not yet in the journal.
        auto& append = syncs.emplace_back(SYS_pwrite64, [&] { return file.write_direct({256 * KiB, 260 * KiB}), 0L; });
        let_go_until_returned(test.disk(), append);
        // What these change of the file is in the commit.
        const auto before = file.calls_so_far();
        std::deque<Overwrite> begun;
        while (next < begun_before) {
            const Range block{next * 4 * KiB, (next + 1) * 4 * KiB};
            ++next;
            const auto& write =
                syncs.emplace_back(SYS_pwrite64, [&file, block] { return file.write_direct(block), 0L; });
            if (const auto overwrite = begin_overwrite(test.disk(), write))
                begun.push_back({overwrite->call, overwrite->ticket, file.calls_so_far()});
        }
        const auto& commit = syncs.emplace_back(SYS_fdatasync, [&] { return sync_first(before); });
        while (wait_for_return_or_block(commit, test.disk()) && next < most_overwrites) {
            // One by one, what the commit writes and flushes. An overwrite was under way before each, and returns after it
            // has come to the disk: a flush behind which the disk may have taken it.
            const auto held = test.disk().served().held();
            auto calls = file.calls_so_far();
            if (!begun.empty()) {
                let_commit_go_on(test.disk().served(), held, commit);
                let_go_until_returned(test.disk(), begun.front());
                calls = begun.front().calls;
                begun.pop_front();
            } else {
                const Range block{next * 4 * KiB, (next + 1) * 4 * KiB};
                ++next;
                const auto& write =
                    syncs.emplace_back(SYS_pwrite64, [&file, block] { return file.write_direct(block), 0L; });
                (void)wait_for_return_or_block(write, test.disk());
                let_commit_go_on(test.disk().served(), held, commit);
                let_go_data_until_returned(test.disk(), write);
                calls = file.calls_so_far();
            }
            const auto& sync = syncs.emplace_back(SYS_fdatasync, [&sync_first, calls] { return sync_first(calls); });
            (void)wait_for_return_or_block(sync, test.disk());
        }
    }
    test.cut_power();
}

}  // namespace

extern const Case stale_data_crash_late_commit;
const Case stale_data_crash_late_commit{
    .name = "stale_data.crash_late_commit",
    .summary = "cuts the power after overwrites were synced while a journal commit that had begun before was under way",
    .method =
        "On an aged disk on which every sector says where it came from, a file is appended to and synced, and the "
        "disk lets each write and flush of that sync wait. Before it lets one go, a direct overwrite of a block of "
        "the file is under way, of which some have begun before the sync, and returns once the next one has come; "
        "then another fdatasync begins, which may find that the commit under way does all it needs, or not, while the "
        "disk keeps a log of all writes and flushes. Then, at many points of that log, a disk is made that has what "
        "was written up to there, or only what was promised, or that lost other parts of what no flush had covered; "
        "each is mounted, so that the filesystem recovers, is read and checked by fsck. Readers must find zeros or "
        "data written at that offset, and what a sync had promised by then.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
