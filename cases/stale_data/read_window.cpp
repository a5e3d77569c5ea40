// Reads that the disk holds, and calls that change what is read: the read comes first, or is a part of the call.
// Contract: blocks are given up only when reads of them in flight have ended, else the reader gets what somebody else puts
// there; and what is read meanwhile into the page cache does not show any more what the call has replaced.
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>

#include "cases/case.h"
#include "cases/stale_data/shared/judged_read.h"
#include "cases/stale_data/shared/readers.h"
#include "cases/stale_data/shared/tracked_file.h"
#include "fixtures/base/failure.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/ageing.h"
#include "fixtures/io/blocking.h"
#include "fixtures/io/reader.h"
#include "fixtures/io/warm_up.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {
namespace {

// In blocks: within all that is changed.
constexpr std::uint64_t read_from = 5;
constexpr int punch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;

// The system call in which a reader of that kind waits for the disk.
long system_call_of(Reading reading) {
    switch (reading) {
        case Reading::mapped:
            return SYS_madvise;
        case Reading::spliced:
            return SYS_splice;
        case Reading::ring:
        case Reading::ring_direct:
            return SYS_io_uring_enter;
        case Reading::uncached:
            return SYS_preadv2;
        case Reading::buffered:
        case Reading::direct:
            break;
    }
    return SYS_pread64;
}

struct Change {
    std::string name;
    long system_call;
    /// False where the filesystem does not have it.
    std::function<bool(TrackedFile&)> make;
    bool gives_up_blocks = false;
    bool shrinks = false;
    /// Where the data begins that it moves, and by how many bytes.
    std::optional<std::uint64_t> moves_from{};
    std::int64_t moves_by = 0;
};

class ReadWindow {
 public:
    explicit ReadWindow(Experiment& experiment)
        : experiment_(experiment),
          disk_(*experiment.held_disk()),
          root_(experiment.filesystem().root()),
          unit_(direct_write_unit(experiment.filesystem())),
          can_shift_(allocation_units(experiment.filesystem()).step <= unit_ && shifts(root_, unit_)) {
        age(root_, 4 * MiB, experiment.seed());
        warm_up(root_);
    }

    void run() {
        const auto readings = possible_readings(root_);
        for (const auto& change : changes_under_a_read())
            for (const auto reading : readings) add(change, reading, true);
        for (const auto& change : changes_that_read())
            for (const auto reading : readings) add(change, reading, false);
        File::open(root_, O_RDONLY | O_DIRECTORY).sync_filesystem();
        for (auto& scene : scenes_) play(scene);
        experiment_.filesystem().remount();
        for (const auto& scene : scenes_) judge_whole_file(scene.file.path(), scene.file.content(), findings_);
        if (windows_ == 0) experiment_.skip("no read of data has reached the disk");
        observe_findings(experiment_, findings_, {{"windows", windows_}, {"files", files()}});
        experiment_.observe({.name = "early_returns",
                             .value = early_returns_.size(),
                             .unit = "calls",
                             .evidence = {{"calls", early_returns_}}});
    }

 private:
    struct Scene {
        TrackedFile file;
        Change change;
        Reading reading;
        // Whether the reader's requests are held, or the first one that the change makes.
        bool read_first;

        Scene(const std::filesystem::path& root, std::uint32_t number, Change with, Reading by, bool reads_first)
            : file(root / fmt::format("file-{}", number), number),
              change(std::move(with)),
              reading(by),
              read_first(reads_first) {}
    };

    [[nodiscard]] Range blocks(std::uint64_t begin, std::uint64_t end) const { return {begin * unit_, end * unit_}; }

    static bool shifts(const std::filesystem::path& root, std::uint64_t unit) {
        const auto file = File::create(root / "probe");
        file.truncate(4 * unit);
        return file.fallocate(FALLOC_FL_INSERT_RANGE, unit, unit) == 0 &&
               file.fallocate(FALLOC_FL_COLLAPSE_RANGE, unit, unit) == 0;
    }

    // Whole blocks, so that none of them has to read.
    [[nodiscard]] std::vector<Change> changes_under_a_read() const {
        const auto all = blocks(2, 12);
        std::vector<Change> changes{
            {"ftruncate", SYS_ftruncate, [this](auto& file) { return truncate(file, 3 * unit_); }, true, true},
            {"PUNCH_HOLE", SYS_fallocate, [all](auto& file) { return file.zero(punch, all); }, true},
            {"ZERO_RANGE", SYS_fallocate, [all](auto& file) { return file.zero(FALLOC_FL_ZERO_RANGE, all); }},
            {"a direct write", SYS_pwrite64,
             [all](auto& file) {
                 file.write_direct(all);
                 return true;
             }},
            {"a buffered write", SYS_pwrite64,
             [all](auto& file) {
                 file.write(all);
                 return true;
             }},
        };
        if (!can_shift_) return changes;
        const auto by = static_cast<std::int64_t>(2 * unit_);
        changes.push_back({"COLLAPSE_RANGE", SYS_fallocate,
                           [this](auto& file) { return file.shift_tail(FALLOC_FL_COLLAPSE_RANGE, blocks(4, 6)); }, true,
                           true, 6 * unit_, -by});
        changes.push_back({"INSERT_RANGE", SYS_fallocate,
                           [this](auto& file) { return file.shift_tail(FALLOC_FL_INSERT_RANGE, blocks(4, 6)); }, false,
                           false, 4 * unit_, by});
        return changes;
    }

    // Parts of blocks, of which the rest has to be read.
    [[nodiscard]] std::vector<Change> changes_that_read() const {
        const Range parts{2 * unit_ + sector_size, 12 * unit_ + sector_size};
        return {
            {"ftruncate into a block", SYS_ftruncate,
             [this](auto& file) { return truncate(file, 3 * unit_ + sector_size); }, true, true},
            {"PUNCH_HOLE of parts of blocks", SYS_fallocate, [parts](auto& file) { return file.zero(punch, parts); },
             true},
            {"ZERO_RANGE of parts of blocks", SYS_fallocate,
             [parts](auto& file) { return file.zero(FALLOC_FL_ZERO_RANGE, parts); }},
        };
    }

    static bool truncate(TrackedFile& file, std::uint64_t size) {
        file.truncate(size);
        return true;
    }

    void add(const Change& change, Reading reading, bool read_first) {
        // A page behind the end of file cannot be mapped.
        if (reading == Reading::mapped && (change.shrinks || fault_stops_process(root_))) return;
        const auto number = static_cast<std::uint32_t>(scenes_.size() + 1);
        auto& scene = scenes_.emplace_back(root_, number, change, reading, read_first);
        scene.file.write(blocks(0, 16));
        // What will have come to lie elsewhere is written as what belongs there.
        if (change.moves_from) scene.file.write_for_later({*change.moves_from, 16 * unit_}, change.moves_by);
    }

    void play(Scene& scene) {
        File::open(scene.file.path(), O_RDONLY).drop_cache();
        Reader reader{scene.file.path(), scene.reading};
        std::vector<std::byte> bytes(unit_);
        std::optional<WatchedCall> read;
        std::optional<WatchedCall> change;
        const auto start_reading = [&] {
            read.emplace(system_call_of(scene.reading), [&] { return read_into(bytes, reader); });
        };
        const auto start_change = [&] { change.emplace(scene.change.system_call, [&] { return make(scene); }); };
        {
            // Calls end only when nothing is held any more: so the hold ends before them, whatever happens.
            const auto hold =
                scene.read_first ? disk_.hold(RequestFilter::data_reads()) : disk_.hold(RequestFilter::data_reads(), 1);
            scene.read_first ? start_reading() : start_change();
            if (held_by(*(scene.read_first ? read : change))) {
                ++windows_;
                scene.read_first ? start_change() : start_reading();
                auto& second = *(scene.read_first ? change : read);
                const bool returned = !wait_for_return_or_block(second, disk_);
                if (returned && scene.read_first && scene.change.gives_up_blocks && second.result() == 0)
                    early_returns_.push_back(fmt::format("{} of file {} while {} had a read of its blocks in flight",
                                                         scene.change.name, number_of(scene), describe(scene.reading)));
            }
            hold->release();
            if (!read) start_reading();
            if (!change) start_change();
        }
        judge(scene, *read, bytes);
        if (const auto result = change->result(); result < 0)
            throw SystemFailure(fmt::format("{} of {}", scene.change.name, scene.file.path().string()),
                                static_cast<int>(-result));
        judge_whole_file(scene.file.path(), scene.file.content(), findings_);
        scene.file.close();
    }

    // Not where everything is in memory still.
    [[nodiscard]] bool held_by(const WatchedCall& call) const {
        bool held = false;
        wait_while_held(
            [&] {
                held = !disk_.served().held().empty();
                return held || call.returned();
            },
            "a call has neither returned nor read from the disk");
        return held;
    }

    [[nodiscard]] static long read_into(std::vector<std::byte>& bytes, Reader& reader) {
        try {
            return static_cast<long>(reader.read(read_from * bytes.size(), bytes));
        } catch (const SystemFailure& failure) {
            return -failure.error();
        }
    }

    [[nodiscard]] static long make(Scene& scene) {
        try {
            return scene.change.make(scene.file) ? 0 : 1;
        } catch (const SystemFailure& failure) {
            return -failure.error();
        }
    }

    // What is done to each file: findings name it by its number.
    [[nodiscard]] std::vector<std::string> files() const {
        std::vector<std::string> list;
        for (const auto& scene : scenes_)
            list.push_back(
                scene.read_first
                    ? fmt::format("{}: {}, then {}", number_of(scene), describe(scene.reading), scene.change.name)
                    : fmt::format("{}: {}, then {}", number_of(scene), scene.change.name, describe(scene.reading)));
        return list;
    }

    [[nodiscard]] static std::uint32_t number_of(const Scene& scene) { return scene.file.content().file(); }

    // A page can be written or zeroed while it is copied to the reader: then each byte is from before or from after.
    static bool is_mixture(std::span<const std::byte> sector, std::uint32_t file, std::uint64_t offset) {
        std::array<std::byte, sector_size> before{};
        std::array<std::byte, sector_size> after{};
        fill_data(before, {file, 1}, offset);
        fill_data(after, {file, 2}, offset);
        for (std::size_t i = 0; i < sector.size(); ++i)
            if (sector[i] != std::byte{0} && sector[i] != before.at(i) && sector[i] != after.at(i)) return false;
        return true;
    }

    // What was in the file before, during or after the change, but nothing that was never there.
    void judge(const Scene& scene, const WatchedCall& read, std::span<const std::byte> bytes) {
        const auto count = read.result();
        const auto what = fmt::format("{} of file {}, with {} under way,", describe(scene.reading), number_of(scene),
                                      scene.change.name);
        if (count < 0) {
            findings_.add_unreadable(fmt::format("{} gets {}", what, error_name(static_cast<int>(-count))));
            return;
        }
        for (std::size_t at = 0; at + sector_size <= static_cast<std::size_t>(count); at += sector_size) {
            const auto sector = bytes.subspan(at).first<sector_size>();
            const auto found = identify(sector);
            const auto* const data = std::get_if<Data>(&found);
            if ((data != nullptr && data->tag.file == number_of(scene)) ||
                is_mixture(sector, number_of(scene), read_from * unit_ + at))
                continue;
            findings_.add_stale(fmt::format("{} sees {}", what, describe(found)));
        }
    }

    Experiment& experiment_;
    HeldDisk& disk_;
    std::filesystem::path root_;
    std::uint64_t unit_;
    bool can_shift_;
    std::deque<Scene> scenes_;
    std::uint64_t windows_ = 0;
    Findings findings_;
    std::vector<std::string> early_returns_;
};

void run(Experiment& experiment) { ReadWindow{experiment}.run(); }

}  // namespace

extern const Case stale_data_read_window;
const Case stale_data_read_window{
    .name = "stale_data.read_window",
    .summary = "changes files while the disk holds reads of them, and looks for stale data in what is read",
    .method =
        "On an aged disk on which every sector says where it came from, files that are not in memory are read "
        "(buffered, direct, mapped, through a pipe, with RWF_DONTCACHE, and through io_uring, buffered and direct) "
        "while the disk holds "
        "the reads; then ftruncate, fallocate with PUNCH_HOLE, ZERO_RANGE, COLLAPSE_RANGE and INSERT_RANGE, or a "
        "direct or buffered write changes what is being read. None that gives up blocks may return while the disk "
        "still has reads of them. Then the other way round: ftruncate, PUNCH_HOLE and ZERO_RANGE begin or end inside "
        "a block and have to read the rest of it, which the disk holds, and the readers read from the middle. When "
        "all is let go, no reader may have got anything that was never in its file, and nobody may see what was "
        "replaced, also after a remount.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
