#include "cases/stale_data/shared/window.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>

#include "cases/stale_data/shared/judged_read.h"
#include "fixtures/base/failure.h"
#include "fixtures/disk/held/held_disk.h"
#include "fixtures/io/ageing.h"
#include "fixtures/io/aio.h"
#include "fixtures/io/blocking.h"
#include "fixtures/io/reader.h"
#include "fixtures/io/warm_up.h"

namespace holdfast {
namespace {

using std::chrono::milliseconds;

constexpr std::uint32_t generation_before = 1;
constexpr std::uint32_t generation_in_flight = 2;

// In which order the disk completes what it holds.
enum class Order { as_submitted, reversed, middle_first };

// Readers, each in a thread of its own: behind a writer that waits for the disk, a reader may have to wait as well.
class Readers {
 public:
    Readers(std::filesystem::path path, const FileContent& content, Range range)
        : path_(std::move(path)), content_(content), range_(range) {}
    Readers(const Readers&) = delete;
    Readers& operator=(const Readers&) = delete;
    ~Readers() = default;

    // Every reader looks once. Returns when all have, or when those that have not are taken to be waiting: nothing but
    // how many look inside the window depends on that.
    void look() {
        constexpr milliseconds patience{10};
        const auto done_before = done_.load();
        for (const auto reading : kinds) threads_.emplace_back([this, reading] { look_once(reading); });
        const auto deadline = std::chrono::steady_clock::now() + patience;
        while (done_ < done_before + kinds.size() && std::chrono::steady_clock::now() < deadline)
            std::this_thread::sleep_for(milliseconds{1});
    }

    // Waits for all of them. Nothing may be held any more. Throws what one of them threw.
    void finish(Findings& findings) {
        threads_.clear();
        if (error_) std::rethrow_exception(error_);
        findings.merge(findings_);
    }
    [[nodiscard]] std::uint64_t looks() const { return done_; }
    [[nodiscard]] std::uint64_t looks_in_window() const { return in_window_; }

 private:
    static constexpr std::array kinds{Reading::buffered, Reading::direct, Reading::mapped};

    void look_once(Reading reading) {
        Findings findings;
        std::exception_ptr error;
        try {
            Reader reader{path_, reading};
            if (judged_read(reader, content_, range_, Writers::some, findings)) ++in_window_;
        } catch (...) {
            error = std::current_exception();
        }
        const std::lock_guard lock{mutex_};
        findings_.merge(findings);
        if (error) error_ = error;
        ++done_;
    }

    std::filesystem::path path_;
    const FileContent& content_;
    Range range_;
    std::atomic<std::uint64_t> done_{0};
    std::atomic<std::uint64_t> in_window_{0};
    std::mutex mutex_;
    Findings findings_;
    std::exception_ptr error_;
    std::list<std::jthread> threads_;
};

// The file of a window, brought into its state.
class WindowFile {
 public:
    WindowFile(Experiment& experiment, const Window& window, std::uint32_t number)
        : content_(number),
          file_(File::create(experiment.filesystem().root() / fmt::format("file-{}", number), O_DIRECT)) {
        if (window.written > 0) {
            AlignedBuffer data{window.written};
            fill_data(data.bytes(), {number, generation_before}, 0);
            file_->write_at(0, data.bytes());
            content_.submit({0, window.written}, generation_before);
            content_.acknowledge({0, window.written}, generation_before);
        }
        if (const auto& allocated = window.allocated) {
            const auto& [mode, range] = *allocated;
            const int error = file_->fallocate(mode, range.begin, range.length());
            if (error == EOPNOTSUPP) experiment.skip("files cannot be preallocated: fallocate(2) is EOPNOTSUPP");
            if (error != 0) throw SystemFailure("fallocate of " + file_->path().string(), error);
        }
        if (window.truncated) file_->truncate(*window.truncated);
        if (file_->size() != window.written) content_.resized(file_->size());
        file_->sync_filesystem();
    }

    [[nodiscard]] const File& file() const { return *file_; }
    [[nodiscard]] FileContent& content() { return content_; }
    void close() { file_.reset(); }

 private:
    FileContent content_;
    std::optional<File> file_;
};

// All writes of one window in flight together, and completed one by one in one order.
class Crossing {
 public:
    Crossing(HeldDisk& disk, WindowFile& file, const std::vector<Range>& writes, Order order)
        : disk_(disk), file_(file), writes_(writes), order_(order), aio_(static_cast<unsigned>(writes.size())) {
        for (const auto& range : writes_) {
            auto& buffer = buffers_.emplace_back(range.length());
            fill_data(buffer.bytes(), {file.content().file(), generation_in_flight}, range.begin);
        }
    }

    void cross(Readers& readers) {
        // Calls and readers end only when nothing is held any more: so the hold ends before them, whatever happens.
        std::list<WatchedCall> calls;
        const auto hold = disk_.hold(RequestFilter::data_writes());
        for (std::size_t i = 0; i < writes_.size(); ++i) submit(calls, i);
        readers.look();
        while (events_ < writes_.size()) {
            let_one_go();
            readers.look();
        }
    }

 private:
    void submit(std::list<WatchedCall>& calls, std::size_t index) {
        file_.content().submit(writes_[index], generation_in_flight);
        auto& call = calls.emplace_back(SYS_io_submit, [this, index]() -> long {
            std::array request{prepare_write(file_.file(), writes_[index].begin, buffers_[index].bytes(), index)};
            return aio_.try_submit(request);
        });
        // A write that is blocked before it reaches the disk will reach it in its turn.
        if (wait_for_return_or_block(call, disk_)) return;
        if (call.result() != 1)
            throw SystemFailure("io_submit of a write to " + file_.file().path().string(),
                                call.result() < 0 ? static_cast<int>(-call.result()) : EAGAIN);
    }

    // The writes that are held, by their place on the disk, are those of the file by their place in it, but for how the
    // filesystem allocates; whatever it does, these are different orders.
    [[nodiscard]] std::uint64_t choose(std::vector<HeldRequest> held) const {
        std::ranges::sort(held, {}, &HeldRequest::ticket);
        switch (order_) {
            case Order::as_submitted:
                return held.front().ticket;
            case Order::reversed:
                return held.back().ticket;
            case Order::middle_first:
                return held[held.size() / 2].ticket;
        }
        return held.front().ticket;
    }

    void let_one_go() {
        std::vector<HeldRequest> held;
        const auto events_before = events_;
        wait_while_held(
            [&] {
                take_events();
                held = disk_.served().held();
                return !held.empty() || events_ > events_before;
            },
            "writes are in flight, but the disk holds none of them");
        if (held.empty()) return;
        const std::array ticket{choose(held)};
        disk_.served().let_go(ticket);
        wait_for_its_end(events_before);
    }

    // For its event. None comes of a part of a write alone, so there is an end to that; nothing but what the readers see
    // first depends on it.
    void wait_for_its_end(std::size_t events_before) {
        constexpr milliseconds patience{50};
        const auto deadline = std::chrono::steady_clock::now() + patience;
        while (events_ == events_before && std::chrono::steady_clock::now() < deadline) {
            take_events();
            std::this_thread::sleep_for(milliseconds{1});
        }
    }

    void take_events() {
        while (const auto event = aio_.wait_for(milliseconds{0})) {
            const auto& range = writes_.at(event->id);
            if (event->result != static_cast<std::int64_t>(range.length()))
                throw SystemFailure(fmt::format("an asynchronous write of {} bytes at {} ended with {}", range.length(),
                                                range.begin, event->result),
                                    event->result < 0 ? static_cast<int>(-event->result) : EIO);
            file_.content().acknowledge(range, generation_in_flight);
            ++events_;
        }
    }

    HeldDisk& disk_;
    WindowFile& file_;
    const std::vector<Range>& writes_;
    Order order_;
    std::deque<AlignedBuffer> buffers_;
    std::size_t events_ = 0;
    AioContext aio_;
};

Range all_of(const Window& window) {
    Range range{0, window.written};
    for (const auto& write : window.writes) range.end = std::max(range.end, write.end);
    range.end += 16 * KiB;
    return range;
}

}  // namespace

void look_through(Experiment& experiment, const Window& window) {
    auto& filesystem = experiment.filesystem();
    age(filesystem.root(), 4 * MiB, experiment.seed());
    warm_up(filesystem.root());

    Findings findings;
    std::uint64_t looks = 0;
    std::uint64_t looks_in_window = 0;
    std::list<WindowFile> files;
    for (const auto order : {Order::as_submitted, Order::reversed, Order::middle_first}) {
        auto& file = files.emplace_back(experiment, window, static_cast<std::uint32_t>(files.size() + 1));
        Readers readers{file.file().path(), file.content(), all_of(window)};
        Crossing{*experiment.held_disk(), file, window.writes, order}.cross(readers);
        readers.finish(findings);
        looks += readers.looks();
        looks_in_window += readers.looks_in_window();
        judge_whole_file(file.file().path(), file.content(), findings);
    }
    std::vector<std::filesystem::path> paths;
    for (auto& file : files) {
        paths.push_back(file.file().path());
        file.close();
    }
    filesystem.remount();
    auto path = paths.begin();
    for (auto& file : files) judge_whole_file(*path++, file.content(), findings);
    observe_findings(experiment, findings, {{"looks", looks}, {"looks_in_window", looks_in_window}});
}

}  // namespace holdfast
