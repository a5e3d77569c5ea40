#include "cases/aio_append/shared/perform.h"

#include <algorithm>
#include <list>
#include <memory>
#include <optional>

#include <fcntl.h>
#include <sys/syscall.h>

#include "fixtures/base/failure.h"
#include "fixtures/disk/held/held_disk.h"
#include "fixtures/io/uring.h"
#include "fixtures/probe/file_time.h"
#include "fixtures/probe/kernel_stack.h"

namespace holdfast {
namespace {

using std::chrono::milliseconds;

// The requests that a disk holds, and letting them go in parts where the disk can.
class Flight {
 public:
    Flight(Disk& disk, bool reads_too)
        : disk_(disk),
          chooses_(dynamic_cast<HeldDisk*>(&disk)),
          hold_(reads_too ? chooses_->hold({.writes = true, .reads = true}) : disk.hold_writes()) {}

    [[nodiscard]] bool can_choose() const { return chooses_ != nullptr; }

    // What is in flight from here on belongs to the writes that are asked about.
    void end_of_earlier() {
        if (can_choose())
            earlier_ = tickets_of(Part::own);
        else
            earlier_count_ = disk_.inflight().writes;
    }

    [[nodiscard]] std::size_t data_count() {
        if (!can_choose()) return disk_.inflight().writes;
        const auto held = chooses_->served().held();
        return static_cast<std::size_t>(
            std::ranges::count_if(held, [](const auto& request) { return is_write_of_data(request); }));
    }
    [[nodiscard]] bool own_in_flight() {
        return can_choose() ? !tickets_of(Part::own).empty() : disk_.inflight().writes > earlier_count_;
    }

    // Lets go what a blocked call waits for, and names it.
    std::string let_go_next(const Blocked& blocked) {
        struct Candidate {
            Part part;
            const char* name;
        };
        std::vector<Candidate> order{{Part::own, "own write"},
                                     {Part::earlier, "earlier write"},
                                     {Part::read, "metadata read"},
                                     {Part::metadata, "log"}};
        if (blocked.on_lock) order.insert(order.begin(), {Part::earlier, "lock"});
        for (const auto& [part, name] : order)
            if (const auto tickets = tickets_of(part); !tickets.empty()) {
                chooses_->served().let_go(tickets);
                return name;
            }
        throw Failure("a call is blocked although the disk holds nothing");
    }

    void release() { hold_->release(); }

 private:
    enum class Part { own, earlier, metadata, read };

    static bool is_write_of_data(const HeldRequest& request) {
        return request.data && request.kind != LogEntry::Kind::read;
    }

    [[nodiscard]] Part part_of(const HeldRequest& request) const {
        if (request.kind == LogEntry::Kind::read) return Part::read;
        if (!request.data) return Part::metadata;
        return std::ranges::find(earlier_, request.ticket) != earlier_.end() ? Part::earlier : Part::own;
    }

    [[nodiscard]] std::vector<std::uint64_t> tickets_of(Part part) {
        std::vector<std::uint64_t> tickets;
        for (const auto& request : chooses_->served().held())
            if (part_of(request) == part) tickets.push_back(request.ticket);
        return tickets;
    }

    Disk& disk_;
    HeldDisk* chooses_;
    std::unique_ptr<Hold> hold_;
    std::vector<std::uint64_t> earlier_;
    std::size_t earlier_count_ = 0;
};

class Performer {
 public:
    Performer(Disk& disk, Stage& stage, const Cast& cast)
        : disk_(disk),
          stage_(stage),
          way_(cast.way),
          earlier_way_(cast.earlier),
          touch_(cast.touch),
          writes_(stage.asked(cast.more_flags)) {}

    Outcome perform(const std::function<void()>& completed) {
        stage_.prepare_meanwhile();
        {
            // The calls end only when what they wait for is let go: so the hold ends before them, whatever happens.
            std::list<WatchedCall> before;
            std::optional<WatchedCall> call;
            Flight flight{disk_, stage_.scene().cold};
            begin_earlier(flight, before);
            begin_meanwhile(before);
            flight.end_of_earlier();
            workers_before_ = uring_workers();
            call.emplace(way_.system_call(), [this] { return submit(); });
            observe_call(*call, flight);
            flight.release();
            outcome_.taken = call->result();
            while (outcome_.taken > 0 && events_ < static_cast<std::size_t>(outcome_.taken))
                take_event(milliseconds{1000});
            completed();
            take_earlier_events();
        }
        stage_.settle(outcome_.results);
        return std::move(outcome_);
    }

 private:
    // A write that finds the file's times old has them to change, which it may have to wait for: so they are changed
    // first, and with nothing in between.
    long submit() {
        if (!can_touch()) return way_.submit(writes_);
        const FileClock clock;
        // Twice: the first time may be a finer one, where somebody has looked at the file's times.
        stage_.touch(touch_);
        clock.watch();
        stage_.touch(touch_);
        const auto taken = way_.submit(writes_);
        outcome_.clock_has_ticked = clock.has_gone_on();
        return taken;
    }

    // Not where a call is under way that a change of the times might wait for: then they are old, since it was under way
    // for many ticks of the clock before it was known to wait.
    [[nodiscard]] bool can_touch() const {
        const auto& scene = stage_.scene();
        const bool at_rest = !outcome_.meanwhile_waits && (!earlier_blocks_ || scene.earlier_elsewhere);
        if (!at_rest || scene.old_times) return false;
        // A write would read what a cold scene has to find unread, and appends where the file is O_APPEND.
        return touch_ == Touch::by_call || (!scene.cold && (scene.open_flags & O_APPEND) == 0);
    }

    void begin_earlier(Flight& flight, std::list<WatchedCall>& calls) {
        for (std::size_t i = 0; i < stage_.scene().earlier.size(); ++i) {
            const auto before = flight.data_count();
            auto& call = calls.emplace_back(SYS_io_submit, [this, write = stage_.earlier(i)] {
                return earlier_way_.submit({&write, 1});
            });
            if (wait_for_return_or_block(call, disk_))
                earlier_blocks_ = true;
            else
                wait_while_held(
                    [&] {
                        if (earlier_way_.event(milliseconds{0})) ++earlier_events_;
                        return flight.data_count() > before || earlier_events_ > i;
                    },
                    "an earlier write has been submitted, but none has reached the disk");
        }
    }

    // Nobody else takes them, and the next performance would think them its own.
    void take_earlier_events() {
        while (earlier_events_ < stage_.scene().earlier.size())
            if (earlier_way_.event(milliseconds{1000})) ++earlier_events_;
    }

    void begin_meanwhile(std::list<WatchedCall>& calls) {
        const auto what = stage_.scene().meanwhile;
        if (what == Meanwhile::nothing) return;
        const long number = what == Meanwhile::fallocate  ? SYS_fallocate
                            : what == Meanwhile::truncate ? SYS_ftruncate
                                                          : SYS_fsync;
        const auto& call = calls.emplace_back(number, [this] { return stage_.meanwhile(); });
        outcome_.meanwhile_waits = wait_for_return_or_block(call, disk_).has_value();
    }

    void observe_call(const WatchedCall& call, Flight& flight) {
        while (const auto blocked = wait_for_return_or_block(call, disk_)) {
            if (!std::exchange(outcome_.blocks, true)) outcome_.first = *blocked;
            if (!flight.can_choose()) return;
            if (auto waits_for = flight.let_go_next(*blocked);
                outcome_.waits_for.empty() || outcome_.waits_for.back() != waits_for)
                outcome_.waits_for.push_back(std::move(waits_for));
        }
        if (outcome_.blocks || call.result() <= 0) return;
        // That it has returned says something only where its write is really being held, or has been buffered, or is
        // in other hands.
        wait_while_held(
            [&] {
                take_event(milliseconds{0});
                return events_ > 0 || find_worker() || flight.own_in_flight();
            },
            "a call has returned, but no write of its own has reached the disk");
        find_worker();
        outcome_.completed_while_held = std::ranges::any_of(outcome_.results, [](auto result) { return result >= 0; });
    }

    bool find_worker() {
        if (way_.system_call() != SYS_io_uring_enter) return false;
        const auto workers = uring_workers();
        const auto fresh = std::ranges::find_if(workers, [this](pid_t worker) {
            return std::ranges::find(workers_before_, worker) == workers_before_.end();
        });
        if (fresh == workers.end()) return false;
        outcome_.punted = true;
        if (const auto stack = KernelStack::of_thread(*fresh)) outcome_.worker_stack = stack->functions;
        return true;
    }

    void take_event(milliseconds bound) {
        const auto event = way_.event(bound);
        if (!event) return;
        ++events_;
        outcome_.results.resize(writes_.size(), -EINPROGRESS);
        outcome_.results.at(event->id) = event->result;
    }

    Disk& disk_;
    Stage& stage_;
    Way& way_;
    Way& earlier_way_;
    Touch touch_;
    bool earlier_blocks_ = false;
    std::vector<Write> writes_;
    std::vector<pid_t> workers_before_;
    std::size_t events_ = 0;
    std::size_t earlier_events_ = 0;
    Outcome outcome_;
};

}  // namespace

Outcome perform(Disk& disk, Stage& stage, const Cast& cast, const std::function<void()>& completed) {
    return Performer{disk, stage, cast}.perform(completed);
}

}  // namespace holdfast
