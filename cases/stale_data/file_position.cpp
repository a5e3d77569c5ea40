// Sequential writes and reads, which begin where the file position is and move it on.
// Contract: a call that transfers N bytes moves the position by N (write(2), read(2)); with O_APPEND a write goes to the end
// of file, and leaves the position behind what it has written. What one call has written, the next does not overwrite.
#include <algorithm>
#include <array>
#include <deque>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cases/case.h"
#include "cases/stale_data/shared/judged_read.h"
#include "fixtures/base/failure.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/ageing.h"
#include "fixtures/io/file.h"
#include "fixtures/io/uring.h"
#include "fixtures/probe/features.h"

namespace holdfast::cases {
namespace {

// The calls that use the position of the file: the last two where their offset is -1 (pwritev2(2), io_uring_enter(2)).
enum class Call { plain, vector, vector_dsync, ring };

struct Way {
    Call call;
    const char* call_name;
    int flags;
    const char* flags_name;
};

constexpr std::uint64_t at_position = ~std::uint64_t{0};

std::vector<Way> all_ways() {
    constexpr std::array calls{std::pair{Call::plain, "write and read"}, std::pair{Call::vector, "writev and readv"},
                               std::pair{Call::vector_dsync, "pwritev2 with RWF_DSYNC, and preadv2"},
                               std::pair{Call::ring, "io_uring"}};
    constexpr std::array flags{
        std::pair{0, "no flags"},
        std::pair{O_SYNC, "O_SYNC"},
        std::pair{O_DIRECT, "O_DIRECT"},
        std::pair{O_DIRECT | O_SYNC, "O_DIRECT, O_SYNC"},
        std::pair{O_DIRECT | O_DSYNC, "O_DIRECT, O_DSYNC"},
        std::pair{O_APPEND, "O_APPEND"},
        std::pair{O_APPEND | O_DIRECT, "O_APPEND, O_DIRECT"},
        std::pair{O_APPEND | O_DIRECT | O_DSYNC, "O_APPEND, O_DIRECT, O_DSYNC"},
    };
    const bool has_ring = !find_missing_feature("io_uring");
    std::vector<Way> ways;
    for (const auto& [call, call_name] : calls)
        for (const auto& [value, name] : flags)
            if (call != Call::ring || has_ring) ways.push_back({call, call_name, value, name});
    return ways;
}

// Throws SystemFailure where the call fails.
std::uint64_t through_ring(const File& file, const auto& prepare) {
    Uring ring{1};
    prepare(ring);
    checked(ring.submit(), "io_uring_enter");
    const auto event = ring.wait_for(std::chrono::seconds{60});
    if (!event) throw Failure("no event has come from io_uring for " + file.path().string());
    if (event->result < 0)
        throw SystemFailure("a request through io_uring on " + file.path().string(), static_cast<int>(-event->result));
    return static_cast<std::uint64_t>(event->result);
}

std::uint64_t write_next(const File& file, Call call, std::span<const std::byte> bytes) {
    if (call == Call::ring)
        return through_ring(file,
                            [&](Uring& ring) { ring.prepare_write(file.descriptor(), at_position, bytes, 0, 0); });
    const iovec part{.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()};
    const auto done = call == Call::plain    ? ::write(file.descriptor(), bytes.data(), bytes.size())
                      : call == Call::vector ? ::writev(file.descriptor(), &part, 1)
                                             : ::pwritev2(file.descriptor(), &part, 1, -1, RWF_DSYNC);
    return static_cast<std::uint64_t>(checked(done, "a sequential write to " + file.path().string()));
}

std::uint64_t read_next(const File& file, Call call, std::span<std::byte> bytes) {
    if (call == Call::ring)
        return through_ring(file, [&](Uring& ring) { ring.prepare_read(file.descriptor(), at_position, bytes, 0); });
    const iovec part{.iov_base = bytes.data(), .iov_len = bytes.size()};
    const auto done = call == Call::plain    ? ::read(file.descriptor(), bytes.data(), bytes.size())
                      : call == Call::vector ? ::readv(file.descriptor(), &part, 1)
                                             : ::preadv2(file.descriptor(), &part, 1, -1, 0);
    return static_cast<std::uint64_t>(checked(done, "a sequential read of " + file.path().string()));
}

class SequentialFile {
 public:
    SequentialFile(const std::filesystem::path& root, std::uint32_t number, const Way& way, std::uint64_t unit)
        : way_(way),
          unit_(unit),
          path_(root / fmt::format("file-{}", number)),
          content_(number),
          file_(File::create(path_, way.flags)) {}

    void preallocate() const {
        const int error = file_->fallocate(FALLOC_FL_KEEP_SIZE, 0, 8 * unit_);
        if (error != 0 && error != EOPNOTSUPP) throw SystemFailure("fallocate of " + path_.string(), error);
    }

    void write_and_read() {
        for (int i = 0; i < 3; ++i) write(2 * unit_);
        seek(unit_);
        write(unit_);
        write(2 * unit_);
        seek(size_ + 2 * unit_);
        write(unit_);
        write(unit_);
        write_beside();
        if ((way_.flags & O_DIRECT) == 0) write(777);
        read();
        file_.reset();
    }

    void judge(Findings& findings) const { judge_whole_file(path_, content_, findings); }
    [[nodiscard]] const std::vector<std::string>& wrong() const { return wrong_; }
    [[nodiscard]] bool through_io_uring() const { return way_.call == Call::ring; }

 private:
    void expect(const char* what, std::uint64_t is, std::uint64_t should_be, const char* after) {
        if (is == should_be) return;
        wrong_.push_back(fmt::format("{} is {}, where {} is right, after {} ({}; {}; file {})", what, is, should_be,
                                     after, way_.call_name, way_.flags_name, content_.file()));
    }
    void look(const char* after) {
        const auto position = checked(::lseek(file_->descriptor(), 0, SEEK_CUR), "asking for the file position");
        expect("the position", static_cast<std::uint64_t>(position), position_, after);
        expect("the size", file_->size(), size_, after);
        // A call that io_uring has carried out asynchronously is told about for itself, and the next one begins in the
        // right place.
        if (way_.call == Call::ring) seek(position_);
    }
    void seek(std::uint64_t to) {
        checked(::lseek(file_->descriptor(), static_cast<off_t>(to), SEEK_SET), "lseek");
        position_ = to;
    }

    void write(std::uint64_t length) {
        const auto begin = (way_.flags & O_APPEND) != 0 ? size_ : position_;
        const Range range{begin, begin + length};
        AlignedBuffer data{length};
        fill_data(data.bytes(), {content_.file(), ++generation_}, begin);
        content_.submit(range, generation_);
        expect("the count", write_next(*file_, way_.call, data.bytes()), length, "a write");
        content_.acknowledge(range, generation_);
        position_ = range.end;
        size_ = std::max(size_, range.end);
        look("a write");
    }

    // pwrite(2), which leaves the position alone; with O_APPEND, it goes to the end of file all the same.
    void write_beside() {
        const auto begin = (way_.flags & O_APPEND) != 0 ? size_ : unit_;
        const Range range{begin, begin + unit_};
        AlignedBuffer data{unit_};
        fill_data(data.bytes(), {content_.file(), ++generation_}, begin);
        content_.submit(range, generation_);
        file_->write_at(unit_, data.bytes());
        content_.acknowledge(range, generation_);
        size_ = std::max(size_, range.end);
        look("a pwrite");
    }

    // Up to the end of file, where the last one is short, and at it.
    void read() {
        const auto step = 3 * unit_;
        AlignedBuffer data{step};
        seek(0);
        while (position_ < size_) {
            const auto length = std::min(step, size_ - position_);
            expect("the count", read_next(*file_, way_.call, data.bytes()), length, "a read");
            position_ += length;
            look("a read");
        }
        if ((way_.flags & O_DIRECT) != 0 && size_ % unit_ != 0) return;
        expect("the count", read_next(*file_, way_.call, data.bytes()), 0, "a read at end of file");
        look("a read at end of file");
    }

    Way way_;
    std::uint64_t unit_;
    std::filesystem::path path_;
    FileContent content_;
    std::optional<File> file_;
    std::uint32_t generation_ = 0;
    std::uint64_t position_ = 0;
    std::uint64_t size_ = 0;
    std::vector<std::string> wrong_;
};

void run(Experiment& experiment) {
    auto& filesystem = experiment.filesystem();
    age(filesystem.root(), 4 * MiB, experiment.seed());
    const auto unit = direct_write_unit(filesystem);

    Findings findings;
    std::vector<std::string> wrong;
    std::vector<std::string> wrong_through_io_uring;
    std::deque<SequentialFile> files;
    for (const auto& way : all_ways())
        for (const bool preallocated : {false, true}) {
            auto& file = files.emplace_back(filesystem.root(), static_cast<std::uint32_t>(files.size() + 1), way, unit);
            if (preallocated) file.preallocate();
            file.write_and_read();
            file.judge(findings);
            auto& all = file.through_io_uring() ? wrong_through_io_uring : wrong;
            all.insert(all.end(), file.wrong().begin(), file.wrong().end());
        }
    filesystem.remount();
    for (const auto& file : files) file.judge(findings);
    experiment.observe("positions", wrong.empty() ? "right" : "wrong", {{"all", wrong}, {"files", files.size()}});
    if (files.back().through_io_uring())
        experiment.observe("positions through io_uring", wrong_through_io_uring.empty() ? "right" : "wrong",
                           {{"all", wrong_through_io_uring}});
    observe_findings(experiment, findings);
}

}  // namespace

extern const Case stale_data_file_position;
const Case stale_data_file_position{
    .name = "stale_data.file_position",
    .summary = "writes and reads files sequentially in every way and looks at the file position after each call",
    .method =
        "With write(2), writev(2), pwritev2(2) with offset -1 and RWF_DSYNC, and io_uring with offset -1, on "
        "descriptors with and without O_DIRECT, O_SYNC, O_DSYNC and O_APPEND, into new files and into preallocated "
        "blocks: appends, overwrites, a gap past the end, a pwrite(2) between them; then reads up to the end of file "
        "and at it. After each call the count, the position (lseek(2)) and the size must be right; in the end all "
        "data must be there, after a remount too. ext4 of 6.1.64 did not move the position after a direct write that "
        "extended the file, and the next write overwrote the data (a backport of commit 91562895f803 without commit "
        "936e114a245b).",
    .needs = {},
    .disk = DiskNeed::poisoned,
    .run = run,
};

}  // namespace holdfast::cases
