// Takes pages and blocks of a file away while the disk writes the pages back.
// Contract: a call that gives blocks up, or moves them, returns only once no write to them is in flight any more: the blocks
// may belong to another file by the time when it arrives.
#include <array>
#include <cerrno>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>
#include <unistd.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "fixtures/base/failure.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/blocking.h"
#include "fixtures/io/file.h"
#include "fixtures/io/warm_up.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {
namespace {

// In units of what the filesystem moves.
constexpr std::uint64_t file_length = 16;
constexpr std::uint64_t written = 4;
constexpr std::uint64_t written_length = 2;

constexpr int not_fallocate = -1;
struct Drop {
    const char* name;
    int mode;
};
constexpr std::array drops{Drop{"ftruncate", not_fallocate},
                           Drop{"PUNCH_HOLE", FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE},
                           Drop{"ZERO_RANGE", FALLOC_FL_ZERO_RANGE}, Drop{"COLLAPSE_RANGE", FALLOC_FL_COLLAPSE_RANGE},
                           Drop{"INSERT_RANGE", FALLOC_FL_INSERT_RANGE}};

void run(Experiment& experiment) {
    const auto& root = experiment.filesystem().root();
    const auto unit = allocation_units(experiment.filesystem()).step;
    const auto page = direct_write_unit(experiment.filesystem());
    auto& disk = *experiment.held_disk();
    if (experiment.recipe().has_mount_option("data=journal"))
        experiment.skip("data=journal writes no pages back before they are in the journal");
    warm_up(root);
    std::vector<std::string> early;
    std::vector<std::string> wrong;
    std::vector<std::string> tried;
    std::uint32_t number = 0;
    for (const auto& [name, mode] : drops) {
        const auto file = File::create(root / name);
        std::vector<std::byte> data(file_length * unit);
        fill_data(data, {++number, 1}, 0);
        file.write_at(0, data);
        file.sync_filesystem();
        const auto hold = disk.hold(RequestFilter::data_writes());
        file.write_at(written * unit, std::span(data).first(page));
        checked(::sync_file_range(file.descriptor(), 0, 0, SYNC_FILE_RANGE_WRITE),
                "sync_file_range of " + file.path().string());
        wait_while_held([&] { return disk.inflight().writes > 0; }, "no write of a page has reached the disk");
        const WatchedCall call{any_system_call, [&, flags = mode]() -> long {
                                   if (flags != not_fallocate)
                                       return file.fallocate(flags, written * unit, written_length * unit);
                                   return ::ftruncate(file.descriptor(), static_cast<off_t>(unit)) == 0 ? 0 : errno;
                               }};
        const bool waits = wait_for_return_or_block(call, disk).has_value();
        hold->release();
        const auto error = static_cast<int>(call.result());
        if (error == EOPNOTSUPP) continue;
        tried.emplace_back(name);
        if (!waits) early.push_back(fmt::format("{} returns while a write to its blocks is in flight", name));
        if (error != 0) wrong.push_back(fmt::format("{} for {}", error_name(error), name));
    }
    experiment.observe("calls", early.empty() ? "wait" : early.front(), {{"all", early}, {"tried", tried}});
    experiment.observe("answers", wrong.empty() ? "success" : wrong.front(), {{"all", wrong}});
}

}  // namespace

extern const Case stale_data_drops_wait;
const Case stale_data_drops_wait{
    .name = "stale_data.drops_wait",
    .summary = "truncates, punches, zeroes and moves blocks while the disk holds pages of them that are written back",
    .method =
        "A block in the middle of a file is written through the page cache, its writeback is begun with "
        "sync_file_range, and the disk holds it. Then ftruncate, or fallocate with PUNCH_HOLE, ZERO_RANGE, "
        "COLLAPSE_RANGE or INSERT_RANGE, works on these blocks: it must not return before they are written.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
