// Moves and clones blocks while direct writes to them are in flight.
// Contract: a write that was submitted before is in what is moved or cloned, at its new place and with all of its data; a
// write into a range that a clone then replaces is gone with it.
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>
#include <sys/syscall.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "fixtures/base/aligned_buffer.h"
#include "fixtures/base/failure.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/ageing.h"
#include "fixtures/io/aio.h"
#include "fixtures/io/blocking.h"
#include "fixtures/io/clone.h"
#include "fixtures/io/file.h"
#include "fixtures/io/file_state.h"
#include "fixtures/io/reader.h"
#include "fixtures/io/warm_up.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {
namespace {

enum class Move { collapse, insert, clone_from, clone_to };
struct NamedMove {
    Move move;
    const char* name;
    long system_call;
};
constexpr std::array moves{NamedMove{Move::collapse, "collapse", SYS_fallocate},
                           NamedMove{Move::insert, "insert", SYS_fallocate},
                           NamedMove{Move::clone_from, "clone from the range", SYS_ioctl},
                           NamedMove{Move::clone_to, "clone over the range", SYS_ioctl}};

// In units of what the filesystem moves.
constexpr std::uint64_t file_length = 16;
constexpr Range moved{4, 6};
constexpr Range written{8, 11};

struct Before {
    const char* name;
    FileState state;
};

std::vector<Before> states(std::uint64_t unit) {
    using Allocation = FileState::Allocation;
    const auto all = file_length * unit;
    const auto half = 6 * unit;
    return {{"data", {.written = all}},
            {"unwritten blocks", {.written = half, .allocated = Allocation{0, {half, all}}}},
            {"a hole", {.written = half, .truncated = all}}};
}

std::vector<std::byte> content_of(const std::filesystem::path& path, Reading reading) {
    Reader reader{path, reading};
    std::vector<std::byte> content(reader.size());
    content.resize(std::min(reader.read(0, content), content.size()));
    return content;
}

class MovedFile {
 public:
    MovedFile(Experiment& experiment, std::uint32_t number, std::uint64_t unit, const Before& before)
        : experiment_(experiment),
          unit_(unit),
          number_(number),
          before_(before),
          path_(experiment.filesystem().root() / fmt::format("file-{}", number)),
          other_path_(path_.string() + ".other") {}

    // False where the filesystem has no such blocks.
    [[nodiscard]] bool prepare() {
        const auto file = File::create(path_);
        const int error = bring_into(file, before_.state, {number_, 1});
        if (error != 0 && error != EOPNOTSUPP) throw SystemFailure("fallocate of " + path_.string(), error);
        const auto other = File::create(other_path_);
        (void)bring_into(other, {.written = file_length * unit_}, {number_ + 1, 1});
        file.sync_filesystem();
        expected_ = content_of(path_, Reading::buffered);
        other_ = content_of(other_path_, Reading::buffered);
        return error == 0;
    }

    // What is wrong; empty where nothing is; nothing where the filesystem does not move blocks so.
    [[nodiscard]] std::optional<std::string> move_while_written(const NamedMove& move) {
        const auto direct = File::open(path_, O_RDWR | O_DIRECT);
        const auto buffered = File::open(path_, O_RDWR);
        const auto other = File::open(other_path_, O_RDWR);
        const Range range{written.begin * unit_, written.end * unit_};
        AlignedBuffer data{range.length()};
        fill_data(data.bytes(), {number_, 2}, range.begin);
        AioContext aio{1};
        std::array request{prepare_write(direct, range.begin, data.bytes())};
        auto& disk = *experiment_.held_disk();
        auto hold = disk.hold(RequestFilter::data_writes());
        WatchedCall submission{SYS_io_submit, [&] { return static_cast<long>(aio.try_submit(request)); }};
        (void)wait_for_return_or_block(submission, disk);
        WatchedCall moving{move.system_call, [&] { return carry_out(move.move, buffered, other); }};
        const auto blocked = wait_for_return_or_block(moving, disk);
        waited_ = blocked.has_value();
        hold->release();
        if (submission.result() != 1) throw Failure(fmt::format("io_submit gave {}", submission.result()));
        const auto events = aio.wait();
        const auto result = moving.result();
        if (result == -EOPNOTSUPP) return std::nullopt;
        if (result != 0) return fmt::format("{} gives {}", move.name, error_name(static_cast<int>(-result)));
        if (events.front().result != static_cast<std::int64_t>(range.length()))
            return fmt::format("the write gives {}", events.front().result);
        std::ranges::copy(std::as_const(data).bytes(), expected_.begin() + static_cast<std::ptrdiff_t>(range.begin));
        expect(move.move);
        return look();
    }

    [[nodiscard]] std::string look() const {
        for (const auto reading : {Reading::buffered, Reading::direct, Reading::mapped}) {
            if (auto wrong = compare(path_, expected_, reading); !wrong.empty()) return wrong;
            if (auto wrong = compare(other_path_, other_, reading); !wrong.empty())
                return wrong + ", in the other file";
        }
        return {};
    }

    [[nodiscard]] bool waited() const { return waited_; }

    void remove() const {
        std::filesystem::remove(path_);
        std::filesystem::remove(other_path_);
    }

 private:
    [[nodiscard]] long carry_out(Move move, const File& file, const File& other) const {
        const auto begin = moved.begin * unit_;
        const auto length = moved.length() * unit_;
        if (move == Move::collapse) return -file.fallocate(FALLOC_FL_COLLAPSE_RANGE, begin, length);
        if (move == Move::insert) return -file.fallocate(FALLOC_FL_INSERT_RANGE, begin, length);
        const bool from = move == Move::clone_from;
        return -(from ? clone_all(file, other) : clone_all(other, file));
    }

    void expect(Move move) {
        const auto at = [&](std::uint64_t units) {
            return expected_.begin() + static_cast<std::ptrdiff_t>(units * unit_);
        };
        if (move == Move::collapse) expected_.erase(at(moved.begin), at(moved.end));
        if (move == Move::insert) expected_.insert(at(moved.begin), moved.length() * unit_, std::byte{0});
        if (move == Move::clone_from) other_ = expected_;
        if (move == Move::clone_to) expected_ = other_;
    }

    [[nodiscard]] std::string compare(const std::filesystem::path& path, const std::vector<std::byte>& expected,
                                      Reading reading) const {
        const auto content = content_of(path, reading);
        if (content.size() != expected.size())
            return fmt::format("{} bytes in place of {} (write into {})", content.size(), expected.size(),
                               before_.name);
        for (std::size_t begin = 0; begin + sector_size <= content.size(); begin += sector_size) {
            const auto found = std::span{content}.subspan(begin).first<sector_size>();
            const auto wanted = std::span{expected}.subspan(begin).first<sector_size>();
            if (!std::ranges::equal(found, wanted))
                return fmt::format("offset {} shows {} to {}, where {} must be (write into {})", begin,
                                   describe(identify(found)), describe(reading), describe(identify(wanted)),
                                   before_.name);
        }
        return {};
    }

    Experiment& experiment_;
    std::uint64_t unit_;
    std::uint32_t number_;
    Before before_;
    std::filesystem::path path_;
    std::filesystem::path other_path_;
    std::vector<std::byte> expected_;
    std::vector<std::byte> other_;
    bool waited_ = false;
};

void run(Experiment& experiment) {
    auto& filesystem = experiment.filesystem();
    age(filesystem.root(), 4 * MiB, experiment.seed());
    warm_up(filesystem.root());
    const auto unit = std::max(allocation_units(filesystem).step, direct_write_unit(filesystem));
    std::uint32_t number = 1;
    bool any = false;
    for (const auto& move : moves) {
        std::vector<std::string> wrong;
        std::vector<MovedFile> files;
        unsigned waited = 0;
        for (const auto& before : states(unit)) {
            MovedFile file{experiment, number, unit, before};
            number += 2;
            if (!file.prepare()) continue;
            const auto found = file.move_while_written(move);
            if (!found) {
                file.remove();
                continue;
            }
            if (!found->empty()) wrong.push_back(*found);
            waited += file.waited() ? 1 : 0;
            files.push_back(std::move(file));
        }
        filesystem.remount();
        for (const auto& file : files)
            if (auto found = file.look(); !found.empty()) wrong.push_back(found + ", after a remount");
        for (const auto& file : files) file.remove();
        any |= !files.empty();
        const auto* const value = files.empty() ? "not supported" : wrong.empty() ? "right" : "wrong";
        experiment.observe(move.name, value, {{"all", wrong}, {"waited", waited}, {"files", files.size()}});
    }
    if (!any) experiment.skip("the filesystem neither moves nor clones blocks");
}

}  // namespace

extern const Case stale_data_move_in_flight;
const Case stale_data_move_in_flight{
    .name = "stale_data.move_in_flight",
    .summary = "moves and clones blocks while direct writes to them are in flight",
    .method =
        "While the disk holds a direct write into data, unwritten blocks or a hole, another thread collapses or "
        "inserts a "
        "range before it, clones the file, or clones another one over it, until that call has returned or is blocked; "
        "then "
        "the write is let go. What was submitted first must be in what is moved, at its new place, with all of its "
        "data: "
        "an extent that is converted where it no longer is shows zeros or old blocks. Both files are read buffered, "
        "directly and mapped, also after a remount.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
