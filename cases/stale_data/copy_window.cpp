// Copies and clones a range out of a file, and into one, whose writes to it are in flight, while readers look at both.
// Contract: what is copied is what the source had before or after a write in flight, and nothing else; a write that had
// returned before is in it, or replaced by it (copy_file_range(2), ioctl_ficlonerange(2)); what has been copied stays.
#include <algorithm>
#include <array>
#include <cerrno>
#include <list>
#include <string>
#include <tuple>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "cases/stale_data/shared/judged_read.h"
#include "cases/stale_data/shared/readers.h"
#include "fixtures/base/aligned_buffer.h"
#include "fixtures/base/failure.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/ageing.h"
#include "fixtures/io/aio.h"
#include "fixtures/io/blocking.h"
#include "fixtures/io/clone.h"
#include "fixtures/io/file.h"
#include "fixtures/io/file_state.h"
#include "fixtures/io/warm_up.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {
namespace {

enum class Call { copy, clone };
enum class Side { from, into };
/// A direct write is held itself; of one through the page cache, its writeback.
enum class Flight { direct, writeback };
enum class State { data, unwritten, hole };

struct Scene {
    Call call;
    Side side;
    Flight flight;
    State state;
};

// In whole blocks and pages. The range that is copied has the one that is written to within it.
constexpr std::uint64_t file_length = 16;
constexpr std::uint64_t data_length = 6;
constexpr Range copied_units{7, 12};
constexpr Range written_units{8, 11};

// Both files carry the same file's data, so that what is copied is in its place; their generations tell them apart.
// What comes later is of a later generation.
constexpr std::uint32_t number_of_both = 1;
constexpr std::uint32_t target_before = 1;
constexpr std::uint32_t earlier = 2;
constexpr std::uint32_t later = 3;

FileState state_of(State state, std::uint64_t unit) {
    using Allocation = FileState::Allocation;
    const auto all = file_length * unit;
    const auto some = data_length * unit;
    if (state == State::data) return {.written = all};
    if (state == State::unwritten) return {.written = some, .allocated = Allocation{0, {some, all}}};
    return {.written = some, .truncated = all};
}

class Copied {
 public:
    Copied(Experiment& experiment, const Scene& scene, std::uint64_t unit, unsigned index)
        : experiment_(experiment),
          scene_(scene),
          copied_{copied_units.begin * unit, copied_units.end * unit},
          written_{written_units.begin * unit, written_units.end * unit},
          source_path_(experiment.filesystem().root() / fmt::format("source-{}", index)),
          target_path_(experiment.filesystem().root() / fmt::format("target-{}", index)),
          source_state_(state_of(from() ? scene.state : State::data, unit)),
          // Where the source has nothing but zeros to copy, zeros are what the target has.
          target_state_(state_of(from() && scene.state != State::data ? State::hole : scene.state, unit)) {}

    // False where the filesystem has no such blocks.
    [[nodiscard]] bool prepare() {
        const auto source = File::create(source_path_);
        const auto target = File::create(target_path_);
        const auto generation = from() ? earlier : later;
        for (const auto& [file, state, tag] :
             {std::tuple{&source, &source_state_, generation}, {&target, &target_state_, target_before}}) {
            const int error = bring_into(*file, *state, {number_of_both, tag});
            if (error == EOPNOTSUPP) return false;
            if (error != 0) throw SystemFailure("fallocate of " + file->path().string(), error);
        }
        expect_state(source_, source_state_, generation);
        expect_state(target_, target_state_, target_before);
        source.sync_filesystem();
        return true;
    }

    // False where the filesystem does not have the call.
    [[nodiscard]] bool copy_in_flight(Findings& findings) {
        const auto& path = from() ? source_path_ : target_path_;
        const auto direct = File::open(path, O_RDWR | O_DIRECT);
        const auto buffered = File::open(path, O_RDWR);
        const auto source = File::open(source_path_, O_RDONLY);
        const auto target = File::open(target_path_, O_RDWR);
        const auto generation = from() ? later : earlier;
        auto& written_to = from() ? source_ : target_;
        AlignedBuffer data{written_.length()};
        fill_data(data.bytes(), {number_of_both, generation}, written_.begin);
        AioContext aio{1};
        std::array request{prepare_write(direct, written_.begin, data.bytes())};
        Readers source_readers{source_path_, source_, {0, size_of(source_state_)}, Shrinking::no};
        Readers target_readers{target_path_, target_, {0, size_of(target_state_)}, Shrinking::no};
        long result = 0;
        {
            auto& disk = *experiment_.held_disk();
            const auto hold = disk.hold(RequestFilter::data_writes());
            written_to.submit(written_, generation);
            const bool is_direct = scene_.flight == Flight::direct;
            if (!is_direct) {
                buffered.write_at(written_.begin, data.bytes());
                written_to.acknowledge(written_, generation);
            }
            WatchedCall writing{is_direct ? SYS_io_submit : SYS_fdatasync, [&] {
                                    if (is_direct) return static_cast<long>(aio.try_submit(request));
                                    return static_cast<long>(::fdatasync(buffered.descriptor()));
                                }};
            (void)wait_for_return_or_block(writing, disk);
            submit_copy();
            WatchedCall copying{scene_.call == Call::copy ? SYS_copy_file_range : SYS_ioctl, [&] {
                                    const int error = copy(source, target);
                                    if (error == 0) acknowledge_copy();
                                    return -static_cast<long>(error);
                                }};
            waited_ = wait_for_return_or_block(copying, disk).has_value();
            source_readers.look();
            target_readers.look();
            if (from() && !waited_ && copying.result() == 0) seen_ = read_copied(Reading::buffered);
            hold->release();
            if (is_direct) take_event(writing, aio, written_to, generation, findings);
            if (!is_direct && writing.result() != 0) throw Failure("fdatasync of " + path.string() + " has failed");
            result = copying.result();
        }
        source_readers.finish(findings);
        target_readers.finish(findings);
        if (result == -EOPNOTSUPP) return false;
        if (result != 0) findings.add_lost(fmt::format("{} gives {}", name(), error_name(static_cast<int>(-result))));
        judge(findings);
        return true;
    }

    // What every reader finds must be right, and the same for all, then and later; and what it was when a copy out of a
    // file had returned, whatever has become of that file since.
    void judge(Findings& findings) {
        judge_whole_file(source_path_, source_, findings);
        judge_whole_file(target_path_, target_, findings);
        for (const auto reading : {Reading::buffered, Reading::direct, Reading::mapped}) {
            const auto found = read_copied(reading);
            if (seen_.empty()) seen_ = found;
            const auto at = static_cast<std::size_t>(std::ranges::mismatch(found, seen_).in1 - found.begin());
            if (at == seen_.size()) continue;
            findings.add_lost(fmt::format("offset {} of the target is not for {} what it was before, after {}",
                                          copied_.begin + at, describe(reading), name()));
        }
    }

    [[nodiscard]] bool waited() const { return waited_; }
    void remove() const {
        std::filesystem::remove(source_path_);
        std::filesystem::remove(target_path_);
    }

 private:
    [[nodiscard]] bool from() const { return scene_.side == Side::from; }
    [[nodiscard]] std::string name() const {
        return fmt::format("a {} {} a range with {} in flight", scene_.call == Call::copy ? "copy" : "clone",
                           from() ? "out of" : "into",
                           scene_.flight == Flight::direct ? "a direct write" : "writeback");
    }
    [[nodiscard]] int copy(const File& source, const File& target) const {
        const Passage passage{copied_.begin, copied_.length(), copied_.begin};
        return scene_.call == Call::copy ? copy_range(source, target, passage) : clone_range(source, target, passage);
    }

    [[nodiscard]] std::vector<std::byte> read_copied(Reading reading) const {
        std::vector<std::byte> found(copied_.length());
        Reader reader{target_path_, reading};
        found.resize(reader.read(copied_.begin, found));
        return found;
    }

    // What the source has where it is not written to: nothing where that is a hole.
    [[nodiscard]] bool has_data() const { return !from() || scene_.state == State::data; }
    [[nodiscard]] std::uint32_t source_generation() const { return from() ? earlier : later; }

    void submit_copy() {
        if (has_data()) target_.submit(copied_, source_generation());
        if (from()) target_.submit(written_, later);
    }
    // A direct write and the copy may have come in either order; one through the page cache came first.
    void acknowledge_copy() {
        const bool ordered = scene_.flight == Flight::writeback;
        if (from() && ordered) target_.acknowledge(written_, later);
        if (from() && !ordered) target_.give_up(written_, later);
        if (!has_data()) return;
        target_.give_up(copied_, source_generation());
        target_.acknowledge({copied_.begin, written_.begin}, source_generation());
        if (from() || ordered) target_.acknowledge(written_, source_generation());
        target_.acknowledge({written_.end, copied_.end}, source_generation());
    }

    void take_event(const WatchedCall& writing, AioContext& aio, FileContent& content, std::uint32_t generation,
                    Findings& findings) const {
        if (writing.result() != 1) throw Failure(fmt::format("io_submit gave {}", writing.result()));
        if (const auto result = aio.wait().front().result; result == static_cast<std::int64_t>(written_.length())) {
            content.acknowledge(written_, generation);
        } else {
            content.give_up(written_, generation);
            findings.add_lost(fmt::format("the direct write gave {} beside {}", result, name()));
        }
    }

    Experiment& experiment_;
    Scene scene_;
    Range copied_;
    Range written_;
    std::filesystem::path source_path_;
    std::filesystem::path target_path_;
    FileState source_state_;
    FileState target_state_;
    FileContent source_{number_of_both};
    FileContent target_{number_of_both};
    std::vector<std::byte> seen_;
    bool waited_ = false;
};

struct Count {
    std::size_t scenes = 0;
    std::size_t waited = 0;
};

// Leaves nothing behind: where files get a lot of space at once, there is none for the files of all scenes.
void copy_in_states(Experiment& experiment, Scene scene, std::uint64_t unit, Findings& findings, Count& count) {
    std::list<Copied> files;
    for (const auto state : {State::data, State::unwritten, State::hole}) {
        scene.state = state;
        auto& file = files.emplace_back(experiment, scene, unit, static_cast<unsigned>(files.size()));
        if (file.prepare() && file.copy_in_flight(findings)) {
            count.waited += file.waited() ? 1 : 0;
            continue;
        }
        file.remove();
        files.pop_back();
    }
    experiment.filesystem().remount();
    for (auto& file : files) {
        file.judge(findings);
        file.remove();
    }
    count.scenes += files.size();
}

void run(Experiment& experiment) {
    auto& filesystem = experiment.filesystem();
    age(filesystem.root(), 4 * MiB, experiment.seed());
    warm_up(filesystem.root());
    const auto unit = direct_write_unit(filesystem);
    Findings findings;
    Count count;
    for (const auto call : {Call::copy, Call::clone})
        for (const auto side : {Side::from, Side::into})
            for (const auto flight : {Flight::direct, Flight::writeback})
                copy_in_states(experiment, {call, side, flight, State::data}, unit, findings, count);
    observe_findings(experiment, findings, {{"scenes", count.scenes}, {"waited", count.waited}});
}

}  // namespace

extern const Case stale_data_copy_window;
const Case stale_data_copy_window{
    .name = "stale_data.copy_window",
    .summary = "copies and clones ranges out of and into files while writes to them are in flight",
    .method =
        "While the disk holds a direct write, or the writeback of one through the page cache, into data, unwritten "
        "blocks or a hole, a range around it is copied (copy_file_range) and cloned (FICLONERANGE) to another file, "
        "or from another file over it, until that call has returned or is blocked; readers of every kind look at both "
        "files; then the write is let go. The target must have what the source had before or after a write in flight, "
        "what had been written before must be in it, or be replaced by it, and what a reader has seen when the copy "
        "had returned, or all was at rest, must be the same for all others, also after a remount.",
    .needs = {{"feature", "aio"}},
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
