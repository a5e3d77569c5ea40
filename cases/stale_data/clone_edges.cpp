// Clones and deduplicates where that is delicate: within one file, with the partial block in which a file ends, over blocks
// preallocated behind the end, under dirty pages.
// Contract: a range becomes what the source range is, or the call gives EINVAL and changes nothing (ioctl_ficlonerange(2)); a
// deduplication changes nothing at all (ioctl_fideduperange(2)); what lies between reads as zeros.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>
#include <linux/fs.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "fixtures/base/failure.h"
#include "fixtures/io/ageing.h"
#include "fixtures/io/clone.h"
#include "fixtures/io/reader.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {
namespace {

constexpr auto unit = 64 * KiB;
constexpr std::uint64_t odd = 100;
constexpr int unshare = FALLOC_FL_UNSHARE_RANGE;

/// A file, and what must be in it.
struct Content {
    std::filesystem::path path;
    std::uint32_t number;
    std::vector<std::byte> bytes{};
    std::uint32_t generation = 0;

    [[nodiscard]] File open() const { return File::open(path, O_RDWR); }
    void write(std::uint64_t offset, std::uint64_t length) {
        std::vector<std::byte> data(length);
        fill_data(data, {number, ++generation}, offset);
        open().write_at(offset, data);
        bytes.resize(std::max<std::size_t>(bytes.size(), offset + length));
        std::ranges::copy(data, bytes.begin() + static_cast<std::ptrdiff_t>(offset));
    }
    // Bytes that depend on nothing but where they are in the range.
    void write_same(std::uint64_t offset, std::uint64_t length, std::byte first) {
        std::vector<std::byte> data(length);
        for (std::size_t i = 0; i < data.size(); ++i)
            data[i] = first ^ static_cast<std::byte>(i / 7) ^ static_cast<std::byte>(i >> 12U);
        open().write_at(offset, data);
        bytes.resize(std::max<std::size_t>(bytes.size(), offset + length));
        std::ranges::copy(data, bytes.begin() + static_cast<std::ptrdiff_t>(offset));
    }
    void become(const std::vector<std::byte>& source, std::uint64_t from, std::uint64_t length, std::uint64_t to) {
        const std::vector<std::byte> data(source.begin() + static_cast<std::ptrdiff_t>(from),
                                          source.begin() + static_cast<std::ptrdiff_t>(from + length));
        bytes.resize(std::max<std::size_t>(bytes.size(), to + length));
        std::ranges::copy(data, bytes.begin() + static_cast<std::ptrdiff_t>(to));
    }
};

int clone(const Content& source, std::uint64_t from, std::uint64_t length, const Content& target, std::uint64_t to) {
    return clone_range(source.open(), target.open(), {from, length, to});
}

class Edges {
 public:
    explicit Edges(Experiment& experiment) : experiment_(experiment), root_(experiment.filesystem().root()) {
        age(root_, 4 * MiB, experiment.seed());
    }

    void run() {
        within_one_file();
        unshared_under_dirty();
        partial_end();
        over_preallocated();
        deduplicated();
        experiment_.filesystem().remount();
        for (const auto& content : contents_) judge(content, "after a remount");
        experiment_.observe("answers", wrong_.empty() ? "right" : wrong_.front(), {{"all", wrong_}});
        experiment_.observe("content", bad_.empty() ? "right" : bad_.front(), {{"all", bad_}});
    }

 private:
    Content& create() {
        const auto number = static_cast<std::uint32_t>(contents_.size() + 1);
        contents_.push_back({.path = root_ / fmt::format("file-{}", number), .number = number});
        (void)File::create(contents_.back().path);
        return contents_.back();
    }

    void judge(const Content& content, const std::string& when) {
        for (const auto& difference : differences(content))
            bad_.push_back(fmt::format("file {} {}, to {}: {} bytes where {} are right, other ones from byte {} on",
                                       content.number, when, describe(difference.reading), difference.size,
                                       content.bytes.size(), difference.at));
    }
    struct Difference {
        Reading reading;
        std::uint64_t size;
        std::uint64_t at;
    };
    [[nodiscard]] static std::vector<Difference> differences(const Content& content) {
        std::vector<Difference> all;
        for (const auto reading : {Reading::buffered, Reading::direct, Reading::mapped}) {
            Reader reader{content.path, reading};
            std::vector<std::byte> found(reader.size());
            found.resize(std::min(reader.read(0, found), found.size()));
            if (found == content.bytes) continue;
            const auto at = std::ranges::mismatch(found, content.bytes).in1 - found.begin();
            all.push_back({reading, found.size(), static_cast<std::uint64_t>(at)});
        }
        return all;
    }
    void expect(int error, int right, const std::string& what) {
        if (error != right)
            wrong_.push_back(fmt::format("{} for {}, {} is right", error == 0 ? "success" : error_name(error), what,
                                         right == 0 ? "success" : error_name(right)));
    }

    // Blocks are cloned to further on in their own file; and a clone of a file with holes gets blocks of its own.
    void within_one_file() {
        auto& file = create();
        file.write(0, unit);
        file.open().sync();
        const int error = clone(file, 0, unit, file, 4 * unit);
        if (error == EOPNOTSUPP) experiment_.skip("files cannot be cloned: FICLONERANGE is " + error_name(error));
        expect(error, 0, "a clone within one file");
        file.become(file.bytes, 0, unit, 4 * unit);
        judge(file, "after a clone within it");
        expect(clone(file, 0, 2 * unit, file, unit), EINVAL, "a clone of a range over itself");
        judge(file, "after a clone of a range over itself");
        // Holes in between.
        auto& other = create();
        other.write(0, unit);
        other.write(3 * unit, unit);
        other.open().sync();
        auto& copy = create();
        expect(clone(other, 0, 0, copy, 0), 0, "a clone of a file with holes");
        copy.bytes = other.bytes;
        copy.write(0, 4 * unit);
        const int whole = copy.open().fallocate(unshare, 0, 4 * unit);
        if (whole != EOPNOTSUPP) expect(whole, 0, "UNSHARE_RANGE of all");
        judge(copy, "after UNSHARE_RANGE of all of it");
        judge(other, "after its clone was unshared");
    }

    // Blocks that are shared within a file get blocks of their own while they and what lies behind them are dirty. The file
    // is not looked at again, so that what is wrong with it hides nothing else.
    void unshared_under_dirty() {
        Content file{.path = root_ / "unshared", .number = 1000};
        (void)File::create(file.path);
        file.write(0, unit);
        file.open().sync();
        expect(clone(file, 0, unit, file, 4 * unit), 0, "another clone within one file");
        file.become(file.bytes, 0, unit, 4 * unit);
        file.write(0, 2 * unit);
        const int unshared = file.open().fallocate(unshare, 0, unit);
        if (unshared == EOPNOTSUPP) return experiment_.observe("unshared under dirty pages", "not supported");
        expect(unshared, 0, "UNSHARE_RANGE of dirty pages");
        const auto found = differences(file);
        const auto* const outcome = found.empty()             ? "right"
                                    : found.front().at < unit ? "wrong"
                                                              : "wrong behind the range";
        experiment_.observe("unshared under dirty pages", outcome,
                            {{"other bytes from", found.empty() ? file.bytes.size() : found.front().at}});
    }

    // The block in which a file ends belongs at an end, and nowhere else.
    void partial_end() {
        auto& source = create();
        source.write(0, unit + odd);
        source.open().sync();
        auto& middle = create();
        middle.write(0, 4 * unit);
        middle.open().sync();
        expect(clone(source, unit, odd, middle, unit), EINVAL, "a clone of the last bytes into the middle of a file");
        expect(clone(source, unit, 0, middle, unit), EINVAL, "a clone up to the end into the middle of a file");
        judge(middle, "after a clone that was refused");
        expect(clone(source, unit, 0, middle, 4 * unit), 0, "a clone of the last bytes to the end of a file");
        middle.become(source.bytes, unit, odd, 4 * unit);
        judge(middle, "after a clone of the last bytes to its end");
        expect(clone(source, 0, 0, middle, 8 * unit), 0, "a clone to behind the end of a file");
        middle.become(source.bytes, 0, unit + odd, 8 * unit);
        judge(middle, "after a clone to behind its end");
        // What the last block had behind the end must not show.
        middle.open().truncate(middle.bytes.size() + unit);
        middle.bytes.resize(middle.bytes.size() + unit);
        judge(middle, "after it has grown");
    }

    void over_preallocated() {
        auto& source = create();
        source.write(0, unit);
        source.open().sync();
        auto& target = create();
        target.write(0, unit);
        const int error = target.open().fallocate(FALLOC_FL_KEEP_SIZE, unit, 8 * unit);
        if (error != 0) throw SystemFailure("fallocate of " + target.path.string(), error);
        target.open().sync();
        expect(clone(source, 0, unit, target, 4 * unit), 0, "a clone over preallocated blocks behind the end");
        target.become(source.bytes, 0, unit, 4 * unit);
        judge(target, "after a clone over preallocated blocks behind its end");
    }

    void deduplicated() {
        auto& one = create();
        auto& same = create();
        auto& other = create();
        auto& near = create();
        one.write_same(0, 2 * unit + odd, std::byte{1});
        same.write_same(0, 2 * unit + odd, std::byte{1});
        other.write_same(0, 4 * unit, std::byte{1});
        other.write(unit, unit);
        near.write_same(0, 2 * unit + odd, std::byte{1});
        near.write(2 * unit + odd - 1, 1);
        for (const auto* file : {&one, &same, &other, &near}) file->open().sync();
        const auto ask = [&](const Content& target, std::uint64_t from, std::uint64_t length, std::uint64_t to) {
            const auto answer = deduplicate(one.open(), target.open(), {from, length, to});
            judge(one, "after a deduplication");
            judge(target, "after a deduplication");
            return answer;
        };
        const auto equal = ask(same, 0, unit, 0);
        if (equal.error == EOPNOTSUPP) return;
        if (equal.error != 0 || equal.status != FILE_DEDUPE_RANGE_SAME)
            wrong_.push_back(
                fmt::format("error {}, status {} for a deduplication of equal ranges", equal.error, equal.status));
        if (const auto differing = ask(other, unit, unit, unit); differing.status != FILE_DEDUPE_RANGE_DIFFERS)
            wrong_.push_back(fmt::format("error {}, status {} for a deduplication of ranges that differ",
                                         differing.error, differing.status));
        // The last byte differs.
        if (const auto differing = ask(near, unit, unit + odd, unit); differing.status != FILE_DEDUPE_RANGE_DIFFERS)
            wrong_.push_back(fmt::format("error {}, status {} for a deduplication of ends that differ", differing.error,
                                         differing.status));
        // Up to the end of both; and into the middle of one whose block goes on differently.
        (void)ask(same, unit, unit + odd, unit);
        (void)ask(other, 2 * unit, odd, 2 * unit);
        same.write(0, 4 * KiB);
        judge(one, "after what was deduplicated with it was written to");
        judge(same, "after a write to what was deduplicated");
    }

    Experiment& experiment_;
    std::filesystem::path root_;
    std::deque<Content> contents_;
    std::vector<std::string> wrong_;
    std::vector<std::string> bad_;
};

void run(Experiment& experiment) { Edges{experiment}.run(); }

}  // namespace

extern const Case stale_data_clone_edges;
const Case stale_data_clone_edges{
    .name = "stale_data.clone_edges",
    .summary =
        "clones and deduplicates within one file, at the ends of files, over preallocated blocks, under dirty pages",
    .method =
        "On an aged disk filled with poison, a range is cloned within its own file and then unshared under dirty "
        "pages; the block in which a file ends is cloned into the middle of another one, which must be refused, to "
        "its end, and behind it; a range is cloned over blocks preallocated behind the end; equal and different "
        "ranges, and the ends of files, are deduplicated, which may change nothing. All files are compared with a "
        "model after each step, by readers through the page cache, with O_DIRECT and through a mapping, and once more "
        "after a remount.",
    .disk = DiskNeed::poisoned,
    .run = run,
};

}  // namespace holdfast::cases
