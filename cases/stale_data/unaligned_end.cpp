// Direct reads around an end of file that is no multiple of a sector.
// Contract: a read returns what there is before the end of file, and not a byte more (read(2)); what lies behind what it
// returned in the caller's memory is as it was, or zeros, and never what is on the disk there.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "fixtures/base/aligned_buffer.h"
#include "fixtures/base/failure.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/ageing.h"
#include "fixtures/io/aio.h"
#include "fixtures/io/file_state.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {
namespace {

constexpr std::byte untouched{0xA5};

struct Tail {
    const char* name;
    FileState state;
};

class UnalignedEnd {
 public:
    explicit UnalignedEnd(Experiment& experiment)
        : experiment_(experiment),
          root_(experiment.filesystem().root()),
          sector_(smallest_direct_write(root_)),
          block_(direct_write_unit(experiment.filesystem())) {
        age(root_, 4 * MiB, experiment.seed());
    }

    void run() {
        using Allocation = FileState::Allocation;
        for (const std::uint64_t beyond : {1, 777, 3000}) {
            const auto end = 4 * block_ + beyond;
            const std::array tails{
                Tail{"data", {.written = end}},
                Tail{"data that was cut off", {.written = 8 * block_, .truncated = end}},
                Tail{"a hole", {.written = 2 * block_, .truncated = end}},
                Tail{"preallocated blocks",
                     {.written = 2 * block_,
                      .allocated = Allocation{FALLOC_FL_KEEP_SIZE, {2 * block_, 8 * block_}},
                      .truncated = end}},
            };
            for (const auto& tail : tails) look_at(tail, end);
        }
        experiment_.observe("reads", wrong_.empty() ? "right" : wrong_.front(), {{"all", wrong_}, {"tried", tried_}});
    }

 private:
    void look_at(const Tail& tail, std::uint64_t end) {
        const auto number = ++files_;
        const auto path = root_ / fmt::format("file-{}", number);
        {
            const auto file = File::create(path);
            const int error = bring_into(file, tail.state, {number, 1});
            if (error == EOPNOTSUPP) return;
            if (error != 0) throw SystemFailure("fallocate of " + path.string(), error);
            file.sync();
        }
        std::vector<std::byte> expected(end);
        fill_data(std::span{expected}.first(std::min(tail.state.written, end)), {number, 1}, 0);
        const auto file = File::open(path, O_RDONLY | O_DIRECT);
        for (auto offset = 3 * block_; offset <= end + 2 * block_; offset += sector_)
            for (const auto length : {sector_, block_, 4 * block_})
                for (const bool by_aio : {false, true}) read(file, tail, expected, offset, length, by_aio);
    }

    void read(const File& file, const Tail& tail, std::span<const std::byte> expected, std::uint64_t offset,
              std::uint64_t length, bool by_aio) {
        AlignedBuffer buffer{length};
        std::ranges::fill(buffer.bytes(), untouched);
        const auto count = by_aio ? read_by_aio(file, offset, buffer) : read_at(file, offset, buffer);
        ++tried_;
        const auto there = offset < expected.size() ? std::min<std::uint64_t>(expected.size() - offset, length) : 0;
        const auto what = fmt::format("{} bytes at {} of a file of {} that ends in {}{}", length, offset,
                                      expected.size(), tail.name, by_aio ? ", by io_submit" : "");
        if (count != static_cast<std::int64_t>(there)) return note(fmt::format("{} returned for {}", count, what));
        const auto bytes = buffer.bytes();
        if (!std::ranges::equal(bytes.first(there), expected.subspan(std::min(offset, expected.size()), there)))
            return note("wrong content in " + what);
        const auto rest = bytes.subspan(there);
        if (!std::ranges::all_of(rest, [](std::byte byte) { return byte == untouched || byte == std::byte{}; }))
            note("something behind the end of file in memory after " + what);
    }

    static std::int64_t read_at(const File& file, std::uint64_t offset, AlignedBuffer& buffer) {
        const auto count = ::pread(file.descriptor(), buffer.bytes().data(), buffer.size(), static_cast<off_t>(offset));
        return count < 0 ? -errno : count;
    }

    std::int64_t read_by_aio(const File& file, std::uint64_t offset, AlignedBuffer& buffer) {
        std::array<iocb, 1> request{};
        ::io_prep_pread(request.data(), file.descriptor(), buffer.bytes().data(), buffer.size(),
                        static_cast<long long>(offset));
        const int taken = aio_.try_submit(request);
        return taken == 1 ? aio_.wait().front().result : taken;
    }

    void note(std::string what) {
        constexpr std::size_t most = 20;
        if (wrong_.size() < most) wrong_.push_back(std::move(what));
    }

    Experiment& experiment_;
    std::filesystem::path root_;
    std::uint64_t sector_;
    std::uint64_t block_;
    AioContext aio_{1};
    std::uint32_t files_ = 0;
    std::uint64_t tried_ = 0;
    std::vector<std::string> wrong_;
};

void run(Experiment& experiment) { UnalignedEnd{experiment}.run(); }

}  // namespace

extern const Case stale_data_unaligned_end;
const Case stale_data_unaligned_end{
    .name = "stale_data.unaligned_end",
    .summary = "reads directly around an end of file that is no multiple of a sector",
    .method =
        "On an aged disk filled with poison, files end one byte, 777 and 3000 bytes behind a block: in data, in data "
        "of which the rest was cut off, in a hole, in preallocated blocks. From a block before the end to two behind "
        "it, at every sector, direct reads of a sector, a block and four blocks must return what there is before the "
        "end of file, by pread and by io_submit, and leave what lies behind in the caller's memory untouched or zero.",
    .needs = {{"feature", "aio"}},
    .disk = DiskNeed::poisoned,
    .run = run,
};

}  // namespace holdfast::cases
