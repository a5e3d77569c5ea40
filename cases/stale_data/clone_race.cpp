// Two direct writes at once to the same shared block of a clone.
// Contract: what was cloned is its own file from then on: its source never changes, and it has one of the two writes.
#include <array>
#include <barrier>
#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "fixtures/base/aligned_buffer.h"
#include "fixtures/base/failure.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/ageing.h"
#include "fixtures/io/clone.h"
#include "fixtures/io/file.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {
namespace {

constexpr int rounds = 600;
constexpr std::uint32_t source_number = 1;
constexpr std::uint32_t clone_number = 2;

class CloneRace {
 public:
    explicit CloneRace(Experiment& experiment)
        : experiment_(experiment),
          unit_(direct_write_unit(experiment.filesystem())),
          source_(File::create(experiment.filesystem().root() / "source", O_DIRECT)) {
        AlignedBuffer data{2 * unit_};
        fill_data(data.bytes(), {source_number, 1}, 0);
        source_.write_at(0, data.bytes());
        source_.sync_filesystem();
    }

    void run() {
        for (int round = 0; round < rounds && wrong_source_.empty() && wrong_clone_.empty(); ++round) race(round);
        experiment_.observe("source", wrong_source_.empty() ? "unchanged" : wrong_source_, {{"rounds", rounds}});
        experiment_.observe("clone", wrong_clone_.empty() ? "one of the two" : wrong_clone_);
    }

 private:
    void race(int round) {
        const auto path = experiment_.filesystem().root() / "clone";
        const auto clone = File::create(path, O_DIRECT);
        if (const int error = clone_all(source_, clone); error != 0) {
            if (error == EOPNOTSUPP) experiment_.skip("the filesystem has no clones");
            throw SystemFailure("FICLONE", error);
        }
        // The same block; or one of them goes on into the next.
        const auto length = round % 2 == 0 ? unit_ : 2 * unit_;
        write_at_once(clone, length);
        judge(source_, {source_number, 1}, {source_number, 1}, wrong_source_, round);
        judge(clone, {clone_number, 1}, {clone_number, 2}, wrong_clone_, round);
        std::filesystem::remove(path);
    }

    void write_at_once(const File& file, std::uint64_t length) const {
        std::barrier start{2};
        std::array<std::jthread, 2> writers;
        for (std::uint32_t i = 0; i < writers.size(); ++i)
            writers[i] = std::jthread{[&, i] {
                AlignedBuffer data{i == 0 ? length : unit_};
                fill_data(data.bytes(), {clone_number, i + 1}, 0);
                start.arrive_and_wait();
                file.write_at(0, data.bytes());
            }};
    }

    void judge(const File& file, FileTag one, FileTag other, std::string& wrong, int round) const {
        AlignedBuffer found{2 * unit_};
        (void)file.read_at(0, found.bytes());
        for (std::uint64_t at = 0; at < found.size() && wrong.empty(); at += sector_size) {
            const auto sector = std::as_const(found).bytes().subspan(at).first<sector_size>();
            const bool untouched = at >= unit_ && is_data(sector, {source_number, 1}, at);
            if (!untouched && !is_data(sector, one, at) && !is_data(sector, other, at))
                wrong = fmt::format("offset {} shows {} in round {}", at, describe(identify(sector)), round);
        }
    }

    Experiment& experiment_;
    std::uint64_t unit_;
    File source_;
    std::string wrong_source_;
    std::string wrong_clone_;
};

void run(Experiment& experiment) {
    age(experiment.filesystem().root(), 4 * MiB, experiment.seed());
    CloneRace{experiment}.run();
}

}  // namespace

extern const Case stale_data_clone_race;
const Case stale_data_clone_race{
    .name = "stale_data.clone_race",
    .summary = "writes to a shared block of a clone from two threads at once, and looks at what it was cloned from",
    .method =
        "A file of two blocks is cloned again and again (FICLONE); each time, two threads write to the first block of "
        "the "
        "clone at the same moment, with O_DIRECT. Then both files are read directly: the source must have its own "
        "data, "
        "the clone that of one of the two. (XFS from 4.11 on could write to the block of the source: commit "
        "2f4acd0fcd86.)",
    .disk = DiskNeed::poisoned,
    .run = run,
};

}  // namespace holdfast::cases
