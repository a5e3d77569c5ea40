// Preallocates in every way there is, fills the filesystem to the last block, and then writes into what was promised.
// Contract: no write into an allocated range gets ENOSPC, and no store through a mapping SIGBUS, however often it splits
// the range.
#include <algorithm>
#include <array>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "cases/fallocate/shared/mode.h"
#include "cases/fallocate/shared/scene.h"
#include "cases/fallocate/shared/space.h"
#include "fixtures/base/failure.h"
#include "fixtures/io/mapping.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {

using namespace holdfast::fallocate;

namespace {

/// More than fit into a single leaf of an extent tree, once every other block is written.
constexpr std::uint64_t promised_blocks = 1000;

int write_piece(const File& file, std::uint64_t offset, std::span<const std::byte> bytes, int flags) {
    const iovec vector{const_cast<std::byte*>(bytes.data()), bytes.size()};
    const auto written = ::pwritev2(file.descriptor(), &vector, 1, static_cast<off_t>(offset), flags);
    if (written < 0) return errno;
    return static_cast<std::size_t>(written) == bytes.size() ? 0 : ENOSPC;
}

/// Where a store that gets no space ends, in place of the process.
sigjmp_buf no_space;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): a signal handler knows nothing else

/// Stores through a mapping; ENOSPC where that is SIGBUS.
int store_piece(const File& file, std::uint64_t offset, std::span<const std::byte> bytes) {
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const std::uint64_t first = offset / page * page;
    const Mapping mapping(file, first, (offset - first + bytes.size() + page - 1) / page * page);
    struct sigaction before {};
    struct sigaction jump {};
    jump.sa_handler = [](int) { ::siglongjmp(no_space, 1); };
    checked(::sigaction(SIGBUS, &jump, &before), "sigaction of SIGBUS");
    int error = 0;
    if (sigsetjmp(no_space, 1) == 0)
        std::ranges::copy(bytes, mapping.bytes().subspan(offset - first).begin());
    else
        error = ENOSPC;
    ::sigaction(SIGBUS, &before, nullptr);
    return error;
}

/// How a range is promised.
struct Promise {
    std::string_view name;
    int flags;
    /// The range holds data before.
    bool data_first;
};
constexpr std::array promises{
    Promise{"default", 0, false},
    Promise{"KEEP_SIZE", FALLOC_FL_KEEP_SIZE, false},
    Promise{"ZERO_RANGE over data", FALLOC_FL_ZERO_RANGE, true},
    Promise{"ZERO_RANGE over a hole", FALLOC_FL_ZERO_RANGE, false},
};

/// The kinds of write, block after block by turns.
struct Kind {
    std::string_view name;
    int (*write)(const File& buffered, const File& direct, std::uint64_t offset, std::span<const std::byte> bytes);
};
constexpr std::array kinds{
    Kind{"direct", [](const File&, const File& direct, std::uint64_t offset,
                      std::span<const std::byte> bytes) { return write_piece(direct, offset, bytes, 0); }},
    Kind{"buffered", [](const File& buffered, const File&, std::uint64_t offset,
                        std::span<const std::byte> bytes) { return write_piece(buffered, offset, bytes, 0); }},
    Kind{"direct and synchronous",
         [](const File&, const File& direct, std::uint64_t offset, std::span<const std::byte> bytes) {
             return write_piece(direct, offset, bytes, RWF_DSYNC);
         }},
    Kind{"mapped", [](const File& buffered, const File&, std::uint64_t offset,
                      std::span<const std::byte> bytes) { return store_piece(buffered, offset, bytes); }},
};
constexpr std::uint64_t synchronous_every = 16;

struct Promised {
    const Promise* promise;
    std::uint32_t number;
    File buffered;
    File direct;
    std::uint64_t block;
    int error;
};

Promised make(const Promise& promise, const std::filesystem::path& root, std::uint32_t number, std::uint64_t block) {
    const auto path = root / fmt::format("promised-{}", number);
    Promised made{&promise, number, File::create(path), File::open(path, O_RDWR | O_DIRECT), block, 0};
    const std::uint64_t length = promised_blocks * block;
    if (promise.data_first) {
        std::vector<std::byte> data(length);
        fill_data(data, {.file = number, .generation = 1}, 0);
        made.buffered.write_at(0, data);
    }
    made.error = made.buffered.fallocate(promise.flags, 0, length);
    made.buffered.sync();
    return made;
}

/// Writes all of the range in pieces, every second one first, by turns in each way. What failed first.
std::string keep(const Promised& promised) {
    AlignedBuffer data(promised.block);
    for (std::uint64_t parity = 0; parity < 2; ++parity) {
        for (std::uint64_t index = parity; index < promised_blocks; index += 2) {
            const std::uint64_t turn = index / 2;
            // A mapping must not lie behind the end of file: KEEP_SIZE has the size grow from block to block.
            const bool below_end = promised.buffered.size() >= (index + 1) * promised.block;
            const Kind& kind = turn % synchronous_every == 7 ? kinds[2]
                               : below_end && turn % 4 == 3  ? kinds[3]
                                                             : kinds[turn % 2];
            fill_data(data.bytes(), {.file = promised.number, .generation = 2}, index * promised.block);
            const int error = kind.write(promised.buffered, promised.direct, index * promised.block, data.bytes());
            if (error != 0) return fmt::format("{} for a {} write of block {}", error_name(error), kind.name, index);
        }
        if (::fsync(promised.buffered.descriptor()) != 0) return error_name(errno) + " for fsync";
    }
    std::vector<std::byte> content(promised_blocks * promised.block);
    const bool whole = promised.buffered.read_at(0, content) == content.size() &&
                       is_data(content, {.file = promised.number, .generation = 2}, 0);
    return whole ? "kept" : "data lost";
}

void run(Experiment& experiment) {
    DisposableFilesystem& filesystem = experiment.filesystem();
    const AllocationUnits units = allocation_units(filesystem);
    const std::uint64_t block = direct_write_unit(filesystem);
    std::uint32_t number = 0;
    std::vector<Promised> all;
    all.reserve(promises.size());
    for (const Promise& promise : promises) all.push_back(make(promise, filesystem.root(), ++number, block));

    const File filler = File::create(filesystem.root() / "filler");
    const bool any = std::ranges::any_of(all, [](const Promised& promised) { return promised.error == 0; });
    if (any) fill(filler, units.block, 2 * filesystem.disk().size());
    const std::uint64_t free = space_of(filler).available;
    for (const Promised& promised : all) {
        nlohmann::json evidence{{"available after filling", free}};
        const std::string outcome = promised.error != 0 ? error_name(promised.error) : keep(promised);
        if (outcome != "kept") evidence["file"] = describe_file(promised.buffered);
        experiment.observe(std::string(promised.promise->name), outcome, evidence);
    }
}

}  // namespace

extern const Case fallocate_guarantee;
const Case fallocate_guarantee{
    .name = "fallocate.guarantee",
    .summary = "fills the filesystem and then writes into ranges that were allocated before, in every way",
    .method =
        "Ranges of 1000 blocks are allocated by default, with KEEP_SIZE, and by ZERO_RANGE over data and over a hole; "
        "then another file takes all space. Every second block of each range is written, then the others, by turns "
        "with direct, buffered, synchronous and mapped writes. None may fail, not even for the blocks that the "
        "growing extent tree needs, and all data must be there.",
    .needs = {},
    .run = run,
};

}  // namespace holdfast::cases
