#include "cases/stale_data/shared/crossing.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fixtures/base/failure.h"
#include "fixtures/io/mapping.h"
#include "fixtures/io/rwf.h"
#include "fixtures/pattern/sector.h"

namespace holdfast {
namespace {

using Kind = Operation::Kind;
using std::chrono::milliseconds;

long system_call_of(Kind kind) {
    switch (kind) {
        case Kind::direct_write:
            return SYS_io_submit;
        case Kind::buffered_write:
            return SYS_pwrite64;
        case Kind::uncached_write:
            return SYS_pwritev2;
        case Kind::store:
            return any_system_call;
        case Kind::datasync:
            return SYS_fdatasync;
        case Kind::truncate:
            return SYS_ftruncate;
        case Kind::allocate:
        case Kind::zero:
            return SYS_fallocate;
    }
    return -1;
}

bool writes(const Operation& operation) {
    constexpr std::array kinds{Kind::direct_write, Kind::buffered_write, Kind::uncached_write, Kind::store};
    return std::ranges::find(kinds, operation.kind) != kinds.end();
}

// The writes that are held, by their place on the disk, are those of the file by their place in it, but for how the
// filesystem allocates; whatever it does, these are different orders.
std::uint64_t choose(std::vector<HeldRequest> held, Order order) {
    std::ranges::sort(held, {}, &HeldRequest::ticket);
    switch (order) {
        case Order::as_submitted:
            return held.front().ticket;
        case Order::reversed:
            return held.back().ticket;
        case Order::middle_first:
            return held[held.size() / 2].ticket;
    }
    return held.front().ticket;
}

}  // namespace

Crossing::Crossing(HeldDisk& disk, const std::filesystem::path& path, FileContent& content,
                   const std::vector<Operation>& operations)
    : disk_(disk),
      content_(content),
      operations_(operations),
      direct_(File::open(path, O_RDWR | O_DIRECT)),
      buffered_(File::open(path, O_RDWR)),
      aio_(static_cast<unsigned>(operations.size())) {
    for (std::size_t i = 0; i < operations.size(); ++i) {
        auto& buffer = buffers_.emplace_back(writes(operations[i]) ? operations[i].range.length() : 0);
        fill_data(buffer.bytes(), {content.file(), generation(i)}, operations[i].range.begin);
    }
}

void Crossing::cross(Order order, const std::function<void()>& look, Findings& findings) {
    {
        // Calls end only when nothing is held any more: so the hold ends before them, whatever happens.
        const auto hold = disk_.hold(RequestFilter::data_writes());
        for (std::size_t i = 0; i < operations_.size(); ++i)
            if (start(i)) judge_overtaking(i, findings);
        look();
        while (ended() < operations_.size()) {
            let_one_go(order);
            look();
        }
    }
    for (const auto& call : calls_) check(call);
    calls_.clear();
}

void Crossing::check(const WatchedCall& call) const {
    if (const auto result = call.result(); result < 0)
        throw SystemFailure("an operation on " + direct_.path().string(), static_cast<int>(-result));
}

bool Crossing::start(std::size_t index) {
    const auto kind = operations_[index].kind;
    begin(index);
    auto& call = calls_.emplace_back(system_call_of(kind), [this, index] { return perform(index); });
    // What is blocked before it reaches the disk will reach it in its turn.
    if (wait_for_return_or_block(call, disk_)) return false;
    check(call);
    return true;
}

// None of the writes has been let go so far: those whose events have come never went to the disk.
void Crossing::judge_overtaking(std::size_t index, Findings& findings) {
    const auto& [kind, range, mode] = operations_[index];
    if (kind != Kind::truncate && kind != Kind::zero) return;
    take_events();
    for (std::size_t i = 0; i < index; ++i) {
        const auto& earlier = operations_[i];
        if (earlier.kind != Kind::direct_write || !returned(i) || finished_.contains(i)) continue;
        const Range given_up = kind == Kind::truncate ? Range{range.end, earlier.range.end} : range;
        if (!overlap(earlier.range, given_up)) continue;
        findings.add_stale(
            fmt::format("{} of bytes {} to {} of file {} returned while a direct write to bytes {} to {} was in flight",
                        kind == Kind::truncate ? "a truncation" : "a fallocate", given_up.begin, given_up.end,
                        content_.file(), earlier.range.begin, earlier.range.end));
    }
}

bool Crossing::returned(std::size_t index) const {
    return std::next(calls_.begin(), static_cast<std::ptrdiff_t>(index))->returned();
}

long Crossing::perform(std::size_t index) {
    if (operations_[index].kind == Kind::direct_write) return submit_direct(index);
    const auto result = call(index);
    if (result < 0) return -errno;
    end(index);
    return result;
}

long Crossing::submit_direct(std::size_t index) {
    std::array request{prepare_write(direct_, operations_[index].range.begin, buffers_[index].bytes(), index)};
    return aio_.try_submit(request);
}

long Crossing::call(std::size_t index) {
    const auto& [kind, range, mode] = operations_[index];
    const int file = buffered_.descriptor();
    const auto begin = static_cast<off_t>(range.begin);
    switch (kind) {
        case Kind::buffered_write:
            return ::pwrite(file, buffers_[index].bytes().data(), range.length(), begin);
        case Kind::uncached_write: {
            const iovec vector{buffers_[index].bytes().data(), range.length()};
            return ::pwritev2(file, &vector, 1, begin, rwf_dontcache);
        }
        case Kind::store:
            return store(index);
        case Kind::datasync:
            return ::fdatasync(file);
        case Kind::truncate:
            return ::ftruncate(file, static_cast<off_t>(range.end));
        case Kind::allocate:
        case Kind::zero:
            return ::fallocate(file, mode, begin, static_cast<off_t>(range.length()));
        case Kind::direct_write:
            break;
    }
    return -1;
}

long Crossing::store(std::size_t index) {
    const auto& range = operations_[index].range;
    try {
        const Mapping mapping{buffered_, range.begin, range.length()};
        std::ranges::copy(buffers_[index].bytes(), mapping.bytes().begin());
    } catch (const SystemFailure& failure) {
        errno = failure.error();
        return -1;
    }
    return static_cast<long>(range.length());
}

void Crossing::begin(std::size_t index) {
    const auto& [kind, range, mode] = operations_[index];
    if (writes(operations_[index])) content_.submit(range, generation(index));
    if (kind == Kind::truncate) content_.begin_resize(range.end);
    if (kind == Kind::allocate && (mode & FALLOC_FL_KEEP_SIZE) == 0) content_.may_grow(range.end);
    if (kind == Kind::zero) content_.begin_zeroing(range);
}

void Crossing::end(std::size_t index) {
    const auto& [kind, range, mode] = operations_[index];
    if (writes(operations_[index])) content_.acknowledge(range, generation(index));
    if (kind == Kind::truncate) content_.end_resize(range.end);
    if (kind == Kind::zero) content_.end_zeroing(range);
}

void Crossing::take_events() {
    while (const auto event = aio_.wait_for(milliseconds{0})) {
        const auto& range = operations_.at(event->id).range;
        if (event->result != static_cast<std::int64_t>(range.length()))
            throw SystemFailure(fmt::format("an asynchronous write of {} bytes at {} ended with {}", range.length(),
                                            range.begin, event->result),
                                event->result < 0 ? static_cast<int>(-event->result) : EIO);
        end(event->id);
        finished_.insert(event->id);
    }
}

std::size_t Crossing::ended() {
    take_events();
    const auto returned = std::ranges::count_if(
        calls_, [](const WatchedCall& call) { return call.number() != SYS_io_submit && call.returned(); });
    return finished_.size() + static_cast<std::size_t>(returned);
}

void Crossing::let_one_go(Order order) {
    std::vector<HeldRequest> held;
    const auto before = ended();
    auto now = before;
    wait_while_held(
        [&] {
            now = ended();
            held = disk_.served().held();
            return !held.empty() || now > before;
        },
        "operations are under way, but the disk holds nothing of them");
    if (held.empty()) return;
    const std::array ticket{choose(held, order)};
    disk_.served().let_go(ticket);
    // Nothing ends with a part of a write alone, so there is an end to waiting for it; nothing but what the readers see
    // first depends on it.
    constexpr milliseconds patience{50};
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (ended() == now && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(milliseconds{1});
}

}  // namespace holdfast
