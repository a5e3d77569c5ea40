// Preallocates, fills the filesystem, syncs, cuts the power, and writes into what was promised before the cut.
// Contract: the promise outlives the power cut: neither a direct nor a buffered write into the range gets ENOSPC.
#include <array>
#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>
#include <unistd.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "cases/fallocate/shared/mode.h"
#include "cases/fallocate/shared/scene.h"
#include "cases/fallocate/shared/space.h"
#include "fixtures/base/failure.h"
#include "fixtures/io/warm_up.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {

using namespace holdfast::fallocate;

namespace {

constexpr std::uint64_t promised_blocks = 64;
constexpr FileTag promised_data{.file = 2, .generation = 1};

struct Promise {
    std::string_view name;
    int flags;
};
constexpr std::array promises{Promise{"default", 0}, Promise{"KEEP_SIZE", FALLOC_FL_KEEP_SIZE},
                              Promise{"ZERO_RANGE", FALLOC_FL_ZERO_RANGE}};

/// Every other block directly, the rest through the page cache and with fsync.
std::string keep(const std::filesystem::path& path, std::uint64_t block) {
    const File buffered = File::open(path, O_RDWR);
    const File direct = File::open(path, O_RDWR | O_DIRECT);
    AlignedBuffer data(block);
    for (const File* file : {&direct, &buffered}) {
        for (std::uint64_t index = file == &direct ? 0 : 1; index < promised_blocks; index += 2) {
            fill_data(data.bytes(), promised_data, index * block);
            const auto offset = static_cast<off_t>(index * block);
            if (::pwrite(file->descriptor(), data.bytes().data(), block, offset) < 0)
                return fmt::format("{} for a {} write of block {}", error_name(errno),
                                   file == &direct ? "direct" : "buffered", index);
        }
        if (::fsync(file->descriptor()) != 0) return error_name(errno) + " for fsync";
    }
    std::vector<std::byte> content(promised_blocks * block);
    const bool whole = buffered.read_at(0, content) == content.size() && is_data(content, promised_data, 0);
    return whole ? "kept" : "data lost";
}

std::string promise_and_cut(Experiment& experiment, const AllocationUnits& units, std::uint64_t block,
                            nlohmann::json& evidence) {
    DisposableFilesystem& filesystem = experiment.filesystem();
    for (const Promise& promise : promises) {
        const File file = File::create(filesystem.root() / promise.name);
        const int error = file.fallocate(promise.flags, 0, promised_blocks * block);
        if (error != 0) return error_name(error);
        file.sync();
    }
    const File filler = File::create(filesystem.root() / "filler");
    fill(filler, units.block, 2 * filesystem.disk().size());
    filler.sync_filesystem();
    const WriteLog log = experiment.held_disk()->served().log();
    const auto kept = durable(log);
    evidence = {{"log", log.size()}, {"kept", kept.size()}};
    DisposableFilesystem crashed{experiment.recipe(), experiment.held_disk()->crash_state(kept)};
    evidence["available after recovery"] = space_of(File::open(crashed.root(), O_RDONLY | O_DIRECTORY)).available;
    for (const Promise& promise : promises) {
        if (!std::filesystem::exists(crashed.root() / promise.name)) return fmt::format("no file ({})", promise.name);
        std::string outcome = keep(crashed.root() / promise.name, block);
        if (outcome != "kept") return fmt::format("{} ({})", outcome, promise.name);
    }
    const auto report = crashed.finish();
    evidence["fsck"] = report.output;
    return report.damaged ? "damaged" : "kept";
}

void run(Experiment& experiment) {
    const AllocationUnits units = allocation_units(experiment.filesystem());
    const std::uint64_t block = direct_write_unit(experiment.filesystem());
    warm_up(experiment.filesystem().root());
    nlohmann::json evidence = nlohmann::json::object();
    std::string outcome = promise_and_cut(experiment, units, block, evidence);
    experiment.observe("promises", std::move(outcome), std::move(evidence));
}

}  // namespace

extern const Case fallocate_guarantee_after_crash;
const Case fallocate_guarantee_after_crash{
    .name = "fallocate.guarantee_after_crash",
    .summary = "fills the filesystem, cuts the power, and writes into ranges that were allocated before",
    .method =
        "On a held disk, three files get 64 blocks each, by default, with KEEP_SIZE and by ZERO_RANGE; another file "
        "takes all the rest, and all is synced. A disk with just what flushes had covered is mounted, so that the "
        "filesystem recovers. Every second block of each range is then written with direct I/O, the others through "
        "the page cache: none may fail.",
    .needs = {},
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
