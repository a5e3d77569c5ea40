// Times direct writes into unwritten blocks beside overwrites.
// Contract: converting what was preallocated may cost time, but not many times that of the write.

#include <chrono>
#include <string>
#include <vector>

#include <fcntl.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "fixtures/base/bytes.h"
#include "fixtures/base/failure.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/file.h"
#include "fixtures/io/warm_up.h"
#include "fixtures/measure/histogram.h"
#include "fixtures/measure/ratio.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {

namespace {

constexpr unsigned rounds = 20;
constexpr std::uint64_t writes = 16;
// Far above what was ever seen (1 to 3), far below what a lost fast path would cost (a journal commit, a wait).
constexpr double bound = 20;

/// One file, of which each pass writes the blocks that come next.
class Arm {
 public:
    Arm(File file, std::uint64_t block) : file_(std::move(file)), data_(block) {
        fill_data(data_.bytes(), {.file = 1, .generation = 1}, 0);
    }

    /// Returns the nanoseconds that the next writes took.
    double pass() {
        std::chrono::nanoseconds all{};
        for (std::uint64_t number = 0; number < writes; ++number) {
            const auto start = std::chrono::steady_clock::now();
            file_.write_at(next_, data_.bytes());
            const auto taken = std::chrono::steady_clock::now() - start;
            histogram_.add(taken);
            all += taken;
            next_ += data_.size();
        }
        return static_cast<double>(all.count());
    }
    [[nodiscard]] nlohmann::json histogram() const { return histogram_.to_json(); }

 private:
    File file_;
    AlignedBuffer data_;
    std::uint64_t next_ = 0;
    LatencyHistogram histogram_;
};

void run(Experiment& experiment) {
    const auto& root = experiment.filesystem().root();
    const auto block = direct_write_unit(experiment.filesystem());
    const auto length = (rounds + 1) * 2 * writes * block;
    warm_up(root);
    {
        const File unwritten = File::create(root / "unwritten");
        const int error = unwritten.fallocate(0, 0, length);
        experiment.observe("preallocation", error == 0 ? "works" : error_name(error));
        if (error != 0) return;
        const File written = File::create(root / "written");
        const std::vector<std::byte> zeros(length);
        written.write_at(0, zeros);
        written.sync_filesystem();
    }
    Arm overwrite{File::open(root / "written", O_RDWR | O_DIRECT), block};
    Arm convert{File::open(root / "unwritten", O_RDWR | O_DIRECT), block};
    const auto ratios = measure_interleaved(
        rounds, [&] { return overwrite.pass(); }, [&] { return convert.pass(); });
    const auto ratio = estimate(ratios, experiment.seed());
    const auto comparison = compare(ratio, bound);
    nlohmann::json evidence{{"median", ratio.median},
                            {"interval of 95 %", {ratio.low, ratio.high}},
                            {"rounds", ratio.rounds},
                            {"latencies of overwrites", overwrite.histogram()},
                            {"latencies of writes into unwritten blocks", convert.histogram()}};
    if (comparison == Comparison::undecided) evidence["rounds needed"] = rounds_needed(ratio, bound);
    experiment.observe({.name = "time of a write into unwritten blocks, against 20 overwrites",
                        .value = std::string(name_of(comparison)),
                        .samples = ratios,
                        .evidence = std::move(evidence)});
}

}  // namespace

extern const Case unwritten_write_time;
const Case unwritten_write_time{
    .name = "unwritten.write_time",
    .summary =
        "times direct writes into unwritten blocks beside overwrites, and asks whether they take many times as long",
    .method =
        "Rounds of overwrites, writes into unwritten blocks, the same again, overwrites; the first round is dropped. "
        "The median of the rounds' ratios has an interval, by bootstrap; the verdict speaks only when all of it is on "
        "one side of the bound, else it is undecided, and says how many rounds it would need.",
    .run = run,
};

}  // namespace holdfast::cases
