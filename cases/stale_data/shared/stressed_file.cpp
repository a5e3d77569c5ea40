#include "cases/stale_data/shared/stressed_file.h"

#include <algorithm>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>

#include "fixtures/base/failure.h"
#include "fixtures/pattern/sector.h"

namespace holdfast {
namespace {

constexpr unsigned most_in_flight = 4;

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

StressedFile::StressedFile(std::filesystem::path path, std::uint32_t number, Cached cached, std::uint64_t unit,
                           std::uint64_t block)
    : path_(std::move(path)),
      cached_(cached),
      unit_(unit),
      block_(block),
      content_(number),
      direct_(File::create(path_, O_DIRECT)),
      buffered_(File::open(path_, O_RDWR)),
      aio_(most_in_flight) {}

void StressedFile::change(std::mt19937_64& random) {
    const auto choice = random() % 16;
    if (choice < 5 || size_ < 4 * block_)
        append_directly(random);
    else if (choice < 7)
        write_through_cache(behind_end(random, cached_ == Cached::yes ? sector_size : unit_));
    else if (choice < 9)
        write_directly({below_end(random, unit_)});
    else if (choice < 11)
        write_through_cache(below_end(random, cached_ == Cached::yes ? sector_size : unit_));
    else if (choice < 13)
        leave_gap(random);
    else if (choice < 14)
        preallocate();
    else if (choice < 15)
        punch(random);
    else
        buffered_.datasync();
}

// Mostly a few blocks, now and then less than one.
Range StressedFile::behind_end(std::mt19937_64& random, std::uint64_t unit) const {
    const auto begin = round_up(size_, unit);
    return {begin, begin + (random() % 4 == 0 ? unit * (1 + random() % 8) : block_ * (1 + random() % 4))};
}

Range StressedFile::below_end(std::mt19937_64& random, std::uint64_t unit) const {
    const auto begin = random() % (size_ / unit) * unit;
    return {begin, begin + unit * (1 + random() % 8)};
}

void StressedFile::append_directly(std::mt19937_64& random) {
    std::vector<Range> ranges{behind_end(random, unit_)};
    while (ranges.size() < most_in_flight && random() % 2 == 0)
        ranges.push_back({ranges.back().end, ranges.back().end + block_ * (1 + random() % 2)});
    write_directly(ranges);
}

void StressedFile::write_directly(const std::vector<Range>& ranges) {
    std::deque<AlignedBuffer> buffers;
    std::vector<iocb> requests;
    ++generation_;
    for (const auto& range : ranges) {
        auto& buffer = buffers.emplace_back(range.length());
        fill_data(buffer.bytes(), {content_.file(), generation_}, range.begin);
        requests.push_back(prepare_write(direct_, range.begin, buffer.bytes(), requests.size()));
        content_.submit(range, generation_);
    }
    aio_.submit(requests);
    for (std::size_t ended = 0; ended < ranges.size();)
        for (const auto& event : aio_.wait()) {
            const auto& range = ranges.at(event.id);
            if (event.result != static_cast<std::int64_t>(range.length()))
                throw Failure(fmt::format("the write of {} bytes at offset {} of {} gave {}", range.length(),
                                          range.begin, path_.string(), event.result));
            content_.acknowledge(range, generation_);
            size_ = std::max(size_, range.end);
            ++ended;
        }
}

void StressedFile::write_through_cache(Range range) {
    if (cached_ == Cached::no) return write_directly({range});
    AlignedBuffer buffer{range.length()};
    fill_data(buffer.bytes(), {content_.file(), ++generation_}, range.begin);
    content_.submit(range, generation_);
    buffered_.write_at(range.begin, buffer.bytes());
    content_.acknowledge(range, generation_);
    size_ = std::max(size_, range.end);
}

void StressedFile::leave_gap(std::mt19937_64& random) {
    size_ = round_up(size_, sector_size) + sector_size * (1 + random() % 64);
    content_.begin_resize(size_);
    buffered_.truncate(size_);
    content_.end_resize(size_);
    content_.settle(size_);
}

void StressedFile::preallocate() {
    const auto begin = round_up(size_, block_);
    if (const int error = buffered_.fallocate(FALLOC_FL_KEEP_SIZE, begin, 16 * block_);
        error != 0 && error != EOPNOTSUPP)
        throw SystemFailure("fallocate of " + path_.string(), error);
}

// Whole blocks: for parts of them, XFS empties whole pages of the page cache after writing them back, and who has them in
// a pipe then finds zeros there.
void StressedFile::punch(std::mt19937_64& random) {
    const auto range = below_end(random, block_);
    content_.begin_zeroing(range);
    const int error = buffered_.fallocate(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, range.begin, range.length());
    if (error != 0 && error != EOPNOTSUPP) throw SystemFailure("punching a hole into " + path_.string(), error);
    content_.end_zeroing(range);
}

}  // namespace holdfast
