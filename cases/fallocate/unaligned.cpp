// Cuts ranges out of whole blocks at every kind of edge: one byte in, one sector in, one byte before the end.
// Contract: what is inside the range reads as zeros, and not a byte beside it is lost, cached or not, dirty or clean.
#include <array>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "cases/fallocate/shared/mode.h"
#include "cases/fallocate/shared/scene.h"
#include "fixtures/base/failure.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {

using namespace holdfast::fallocate;

namespace {

/// Each cut has this many blocks of its own in the file, one of which the range never touches on either side.
constexpr std::uint64_t blocks_for_each = 5;

/// In the block where the range begins or ends.
struct Edge {
    std::int64_t bytes;
    /// Counted from the end of the block.
    bool from_the_end;
};
constexpr std::array edges{Edge{0, false}, Edge{1, false}, Edge{511, false}, Edge{512, false}, Edge{1, true}};

/// A range of one cut, from the start of the cut's blocks.
struct Cut {
    std::uint64_t begin;
    std::uint64_t end;
};

/// From every edge of the second block to every edge of it and of the two after it.
std::vector<Cut> all_cuts(std::uint64_t block) {
    const auto place = [&](std::uint64_t index, const Edge& edge) {
        return static_cast<std::uint64_t>(
            static_cast<std::int64_t>(index * block) +
            (edge.from_the_end ? static_cast<std::int64_t>(block) - edge.bytes : edge.bytes));
    };
    std::vector<Cut> cuts;
    for (const Edge& first : edges) {
        for (std::uint64_t last = 1; last < blocks_for_each - 1; ++last) {
            for (const Edge& end : edges) {
                const Cut cut{place(1, first), place(last, end)};
                if (cut.end > cut.begin) cuts.push_back(cut);
            }
        }
    }
    return cuts;
}

/// What the page cache has of the file when it is cut.
enum class Cache { dirty, clean, nothing };
constexpr std::array caches{Cache::dirty, Cache::clean, Cache::nothing};

std::string_view name_of(Cache cache) {
    switch (cache) {
        case Cache::dirty:
            return "dirty in the page cache";
        case Cache::clean:
            return "clean in the page cache";
        case Cache::nothing:
            return "on the disk alone";
    }
    return "unknown";
}

/// One file with all cuts of a mode.
struct CutFile {
    std::filesystem::path path;
    FileModel model;
    std::optional<Difference> difference;
    std::string when;
};

CutFile cut_file(const Mode& mode, Cache cache, std::filesystem::path path, std::uint32_t number,
                 const AllocationUnits& units) {
    const std::vector<Cut> cuts = all_cuts(units.block);
    CutFile result{std::move(path), FileModel(units.block, units.step), std::nullopt, "at once"};
    const File file = File::create(result.path);
    std::vector<std::byte> data(cuts.size() * blocks_for_each * units.block);
    fill_data(data, {.file = number, .generation = 1}, 0);
    file.truncate(data.size());
    file.write_at(0, data);
    result.model.write(0, data);
    if (cache != Cache::dirty) file.sync();
    if (cache == Cache::nothing) file.drop_cache();
    for (std::size_t i = 0; i < cuts.size(); ++i) {
        const std::uint64_t base = i * blocks_for_each * units.block;
        const Cut& cut = cuts[i];
        const int error = file.fallocate(mode.flags, base + cut.begin, cut.end - cut.begin);
        if (error != 0) {
            result.difference =
                Difference{"refused", fmt::format("{} of {} bytes at {} answers {}", mode.name, cut.end - cut.begin,
                                                  base + cut.begin, error_name(error))};
            return result;
        }
        mode.apply(result.model, base + cut.begin, cut.end - cut.begin);
    }
    result.difference = find_content_difference(result.model, file);
    return result;
}

/// The cut to which a failure's first byte belongs is the one whose blocks hold it.
nlohmann::json describe_cuts(const Mode& mode, Cache cache, const CutFile& file, std::uint64_t block) {
    return {
        {"mode", mode.name},
        {"data was", name_of(cache)},
        {"detail", file.difference->detail},
        {"cuts", fmt::format("one every {} bytes; each begins and ends 0, 1, 511, 512 bytes into a block, or 1 byte "
                             "before its end",
                             blocks_for_each * block)}};
}

void run(Experiment& experiment) {
    DisposableFilesystem& filesystem = experiment.filesystem();
    const AllocationUnits units = allocation_units(filesystem);
    std::uint32_t number = 0;
    std::string outcome = "right";
    nlohmann::json evidence = nlohmann::json::object();
    std::vector<std::string_view> tried;
    for (const Mode& mode : supported_modes(filesystem.root(), units.step)) {
        if (!mode.zeroes()) continue;
        tried.push_back(mode.name);
        std::vector<CutFile> files;
        for (const Cache cache : caches) {
            const auto path = filesystem.root() / fmt::format("file-{}", ++number);
            files.push_back(cut_file(mode, cache, path, number, units));
        }
        filesystem.remount();
        for (std::size_t i = 0; i < files.size(); ++i) {
            CutFile& file = files[i];
            if (!file.difference) {
                file.when = "after a remount";
                file.difference =
                    find_difference(file.model, File::open(file.path, O_RDWR), units, Tree::left_from_before);
            }
            if (file.difference && outcome == "right") {
                outcome = fmt::format("{} {} ({})", file.difference->what, file.when, mode.name);
                evidence = describe_cuts(mode, caches[i], file, units.block);
            }
            std::filesystem::remove(file.path);
        }
    }
    evidence["modes"] = tried;
    experiment.observe("files", outcome, evidence);
}

}  // namespace

extern const Case fallocate_unaligned;
const Case fallocate_unaligned{
    .name = "fallocate.unaligned",
    .summary = "punches and zeroes ranges that begin and end inside blocks, and looks at each byte beside them",
    .method =
        "In a file of data, some sixty ranges are punched, or zeroed, each in blocks of its own: every combination of "
        "edges 0, 1, 511 and 512 bytes into a block and 1 byte before its end, within a block and over up to three. "
        "Three times: with the data dirty in the page cache, clean there, and on the disk alone. The whole content is "
        "compared at once and after a remount, then also the extents and the block count.",
    .needs = {},
    .disk = DiskNeed::poisoned,
    .run = run,
};

}  // namespace holdfast::cases
