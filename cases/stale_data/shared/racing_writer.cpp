#include "cases/stale_data/shared/racing_writer.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <list>
#include <optional>
#include <random>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>

#include "fixtures/base/failure.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

// Where the writer is, for the readers to look there.
struct Track {
    std::atomic<std::uint64_t> begin{0};
    std::atomic<std::uint64_t> end{0};
    std::atomic<std::uint32_t> batch{0};
    std::atomic<bool> held{false};
    std::atomic<bool> finished{false};
    /// Looks that have ended, of buffered readers: these block least.
    std::atomic<std::uint64_t> looks{0};

    void next_batch(Range where) {
        begin = where.begin;
        end = where.end;
        ++batch;
        batch.notify_all();
    }
    void finish() {
        finished = true;
        ++batch;
        batch.notify_all();
    }
};

class RacingReader {
 public:
    RacingReader(const Race& race, Track& track, Reading reading, std::uint64_t seed)
        : content_(race.content), track_(track), reader_(race.path, reading), random_(seed) {
        thread_ = std::jthread{[this] { run(); }};
    }

    // Ends it. Throws what its thread threw.
    RaceResult finish() {
        thread_.join();
        if (error_) std::rethrow_exception(error_);
        return std::move(result_);
    }

 private:
    void run() {
        try {
            while (!track_.finished) watch_batch();
        } catch (...) {
            error_ = std::current_exception();
        }
    }

    // A number of looks, not a time: what a run costs does not depend on what else the machine does.
    void watch_batch() {
        constexpr int looks_at_a_batch = 16;
        const std::uint32_t batch = track_.batch;
        for (int i = 0; (i < looks_at_a_batch || track_.held) && track_.batch == batch && !track_.finished; ++i) {
            look();
            ::sched_yield();  // or the writer waits for a CPU longer than for the disk
        }
        if (!track_.finished) track_.batch.wait(batch);
    }

    void look() {
        const auto in_window = judged_read(reader_, content_, choose(), Writers::some, result_.findings);
        ++result_.reads;
        result_.reads_in_window += in_window ? 1 : 0;
        if (reader_.reading() == Reading::buffered) ++track_.looks;
    }

    // Mostly exactly what is being written, sometimes with the surroundings.
    Range choose() {
        const std::uint64_t begin = track_.begin;
        const auto end = std::max<std::uint64_t>(track_.end, begin + sector_size);
        const auto choice = random_() % 4;
        if (choice < 2) return {begin, end};
        const auto before = random_() % (32 * KiB);
        return {begin - std::min(begin, before), choice == 2 ? end : end + random_() % (32 * KiB)};
    }

    const FileContent& content_;
    Track& track_;
    Reader reader_;
    std::mt19937_64 random_;
    RaceResult result_;
    std::exception_ptr error_;
    std::jthread thread_;
};

// Holds the disk's writes, and lets go once they have come and readers have looked. By then the writer may be blocked,
// and readers behind it: so the time is bounded, and nothing but the depth of the test depends on it.
class TimedHold {
 public:
    TimedHold(Disk& disk, const Track& track)
        : hold_(disk.hold_writes()), thread_([this, &disk, &track] { watch(disk, track); }) {}

    void finish() {
        submitted_ = true;
        thread_.join();
        if (error_) std::rethrow_exception(error_);
    }

 private:
    void watch(const Disk& disk, const Track& track) {
        try {
            wait_until(1s, [&] { return disk.inflight().writes > 0 || submitted_; });
            const auto looks = track.looks.load();
            wait_until(10ms, [&] { return track.looks >= looks + 4; });
            hold_->release();
        } catch (...) {
            error_ = std::current_exception();
        }
    }

    template <typename Condition>
    static void wait_until(std::chrono::milliseconds bound, Condition condition) {
        const auto deadline = std::chrono::steady_clock::now() + bound;
        while (!condition() && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(200us);
    }

    std::unique_ptr<Hold> hold_;
    std::atomic<bool> submitted_{false};
    std::exception_ptr error_;
    std::jthread thread_;
};

// All of the batch where its writes lie one behind the other; else its first write, whose way to the disk is longest.
Range worth_a_look(const Batch& batch) {
    auto range = batch.writes.front();
    for (const auto& write : batch.writes)
        if (write.begin == range.end) range.end = write.end;
    return range;
}

class RacingWriter {
 public:
    RacingWriter(Disk& disk, const Race& race, Track& track)
        : disk_(disk), race_(race), track_(track), file_(File::open(race.path, O_RDWR | O_DIRECT)), aio_(8) {}

    void run() {
        for (const auto& batch : race_.batches) write(batch);
    }

 private:
    void write(const Batch& batch) {
        const FileTag tag{race_.content.file(), race_.generation};
        std::vector<AlignedBuffer> buffers;
        std::vector<iocb> requests;
        for (std::size_t i = 0; i < batch.writes.size(); ++i) {
            auto& buffer = buffers.emplace_back(batch.writes[i].length());
            fill_data(buffer.bytes(), tag, batch.writes[i].begin);
            requests.push_back(prepare_write(file_, batch.writes[i].begin, buffer.bytes(), i));
        }
        track_.held = batch.held;
        track_.next_batch(worth_a_look(batch));

        std::optional<TimedHold> hold;
        if (batch.held) hold.emplace(disk_, track_);
        for (const auto& range : batch.writes) race_.content.submit(range, race_.generation);
        aio_.submit(requests);
        if (hold) hold->finish();
        track_.held = false;
        for (std::size_t ended = 0; ended < requests.size();)
            for (const auto& event : aio_.wait()) {
                acknowledge(event, batch.writes[event.id]);
                ++ended;
            }
    }

    void acknowledge(const AioEvent& event, Range range) {
        if (event.result != static_cast<std::int64_t>(range.length()))
            throw Failure(fmt::format("the write of {} bytes at offset {} of {} gave {}", range.length(), range.begin,
                                      race_.path.string(), event.result));
        race_.content.acknowledge(range, race_.generation);
    }

    Disk& disk_;
    const Race& race_;
    Track& track_;
    File file_;
    AioContext aio_;
};

}  // namespace

void RaceResult::merge(const RaceResult& other) {
    findings.merge(other.findings);
    reads += other.reads;
    reads_in_window += other.reads_in_window;
}

RaceResult run_race(Disk& disk, const Race& race, std::uint64_t seed) {
    Track track;
    std::list<RacingReader> readers;
    std::exception_ptr error;
    try {
        for (const auto reading : {Reading::buffered, Reading::direct, Reading::buffered, Reading::mapped})
            readers.emplace_back(race, track, reading, ++seed);
        RacingWriter{disk, race, track}.run();
    } catch (...) {
        error = std::current_exception();
    }
    track.finish();
    RaceResult result;
    for (auto& reader : readers) result.merge(reader.finish());
    if (error) std::rethrow_exception(error);
    return result;
}

}  // namespace holdfast
