// Appends to a file with O_APPEND while another thread preallocates behind its end, punches and zeroes before it.
// Contract: both finish, and not a byte of an append is lost.
#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>
#include <unistd.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "cases/fallocate/shared/mode.h"
#include "cases/fallocate/shared/scene.h"
#include "fixtures/base/failure.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {

using namespace holdfast::fallocate;

namespace {

constexpr std::uint64_t records = 150;
/// What the other thread does at most, and how often of it it moves the end: by a step each time.
constexpr std::uint64_t calls_at_most = 60;
constexpr std::uint64_t moves_at_most = 16;

/// How the records are written.
struct Writing {
    std::string_view name;
    int flags;
    std::uint64_t record;
};

/// Record number `index` says so wherever it lands, which is the kernel's affair. It begins with a byte that is not zero.
void fill_record(std::span<std::byte> bytes, std::uint64_t index) {
    fill_data(bytes, {.file = 1, .generation = 1}, index * bytes.size());
    bytes[0] = std::byte{0xff};
}

/// What the other thread does: KEEP_SIZE and default behind the end, PUNCH_HOLE and ZERO_RANGE of the head of the file,
/// which no append touches.
class Preallocator {
 public:
    Preallocator(const File& file, std::span<const Mode> modes, std::uint64_t head, std::uint64_t step, bool move_end)
        : file_(file), head_(head), step_(step) {
        for (const Mode& mode : modes)
            if (!mode.moves_data() && (move_end || !mode.extends())) modes_.push_back(mode);
    }
    void run(const std::atomic<bool>& done) {
        std::uint64_t moves = 0;
        for (std::uint64_t round = 0; !done && !modes_.empty() && round < calls_at_most; ++round) {
            const Mode& mode = modes_[round % modes_.size()];
            const bool behind = mode.allocates() && !mode.zeroes();
            if (behind && mode.extends() && ++moves > moves_at_most) continue;
            const std::uint64_t end = (file_.size() + step_ - 1) / step_ * step_;
            const int error = file_.fallocate(mode.flags, behind ? end : 0, behind ? step_ : head_);
            if (error != 0 && failed_.empty())
                failed_ = fmt::format("{} of {} at {}: {}", mode.name, step_, end, error_name(error));
            begun_ = true;
        }
        begun_ = true;
    }
    void wait_until_begun() const {
        while (!begun_) std::this_thread::yield();
    }
    [[nodiscard]] const std::string& failed() const { return failed_; }

 private:
    const File& file_;
    std::vector<Mode> modes_;
    std::uint64_t head_;
    std::uint64_t step_;
    std::string failed_;
    std::atomic<bool> begun_ = false;
};

/// Finds the records in order, from `at` on; between them may be zeros where `gaps`. How many there are before the first
/// that is not.
std::uint64_t count_records(std::span<const std::byte> content, std::uint64_t at, std::uint64_t record, bool gaps) {
    std::vector<std::byte> wanted(record);
    for (std::uint64_t next = 0; next < records; ++next) {
        if (gaps) {
            const auto rest = content.subspan(std::min<std::size_t>(at, content.size()));
            at += static_cast<std::uint64_t>(std::ranges::find_if(rest, [](std::byte b) { return b != std::byte{0}; }) -
                                             rest.begin());
        }
        fill_record(wanted, next);
        if (at + record > content.size() || !std::ranges::equal(content.subspan(at, record), wanted)) return next;
        at += record;
    }
    return records;
}

struct Result {
    std::string records = "kept";
    std::string size = "right";
    nlohmann::json evidence = nlohmann::json::object();
};

/// Writes all records; what went wrong.
std::string append_all(const File& file, std::uint64_t record) {
    AlignedBuffer data(record);
    for (std::uint64_t index = 0; index < records; ++index) {
        fill_record(data.bytes(), index);
        const auto written = ::write(file.descriptor(), data.bytes().data(), data.size());
        if (written != static_cast<ssize_t>(data.size()))
            return fmt::format("append {} returned {}", index,
                               written < 0 ? error_name(errno) : std::to_string(written));
    }
    return "kept";
}

/// Appends while `modes` are called; `move_end`: also those that move the end of file, so that appends land where they may.
Result append(const Writing& writing, std::span<const Mode> modes, const std::filesystem::path& path, bool move_end,
              const AllocationUnits& units) {
    const std::uint64_t head = 4 * std::max(units.step, writing.record);
    const File file = File::create(path);
    file.write_at(0, std::vector<std::byte>(head));
    file.sync();
    const File appending = File::open(path, O_RDWR | O_APPEND | writing.flags);
    Preallocator preallocator(file, modes, head, units.step, move_end);
    std::atomic<bool> done = false;
    Result result;
    {
        std::jthread other([&] { preallocator.run(done); });
        preallocator.wait_until_begun();
        result.records = append_all(appending, writing.record);
        done = true;
    }
    if (!preallocator.failed().empty()) result.records = "fallocate failed: " + preallocator.failed();
    std::vector<std::byte> content(file.size());
    content.resize(file.read_at(0, content));
    const std::uint64_t found = count_records(content, head, writing.record, move_end);
    if (found < records && result.records == "kept") {
        result.records = "lost";
        result.evidence["detail"] = fmt::format("record {} of {} is not where it should be; the file has {} bytes",
                                                found, records, content.size());
    }
    const std::uint64_t least = head + records * writing.record;
    if (content.size() < least || (!move_end && content.size() != least)) {
        result.size = "wrong";
        result.evidence["size"] = fmt::format("{}, expected {}{}", content.size(), move_end ? "at least " : "", least);
    }
    const auto before = std::span(content).first(std::min<std::size_t>(head, content.size()));
    if (!is_zeros(before)) result.records = "head overwritten";
    return result;
}

void run(Experiment& experiment) {
    DisposableFilesystem& filesystem = experiment.filesystem();
    const AllocationUnits units = allocation_units(filesystem);
    const std::uint64_t block = direct_write_unit(filesystem);
    const auto modes = supported_modes(filesystem.root(), units.step);
    const std::array writings{Writing{"buffered", 0, 1000}, Writing{"direct", O_DIRECT, block}};
    for (const Writing& writing : writings) {
        for (const bool move_end : {false, true}) {
            // The end moves by whole steps: a direct append has to begin at a whole block.
            const auto name = fmt::format("{}{}", writing.name, move_end ? ", the end moves" : "");
            const Result result = append(writing, modes, filesystem.root() / name, move_end, units);
            experiment.observe(name, result.records, result.evidence);
            experiment.observe(name + ": size", result.size, result.evidence);
        }
    }
}

}  // namespace

extern const Case fallocate_during_append;
const Case fallocate_during_append{
    .name = "fallocate.during_append",
    .summary = "appends to a file while another thread preallocates behind its end and punches and zeroes before it",
    .method =
        "One thread appends 150 numbered records with O_APPEND, buffered and then direct; the other calls KEEP_SIZE "
        "behind the end and PUNCH_HOLE and ZERO_RANGE on the head of the file, and in a second round also the modes "
        "that move the end. All records must be there in order, without gaps where only appends move the end.",
    .needs = {},
    .run = run,
};

}  // namespace holdfast::cases
