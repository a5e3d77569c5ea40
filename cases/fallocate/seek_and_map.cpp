// Calls every mode on a file that is mapped, and asks lseek(2) where its data and holes are.
// Contract: a mapping that is older than the call shows at once what the call has done; SEEK_DATA skips nothing but zeros,
// and SEEK_HOLE finds what was punched.
#include <algorithm>
#include <cerrno>
#include <optional>
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
#include "fixtures/base/failure.h"
#include "fixtures/io/mapping.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {

using namespace holdfast::fallocate;

namespace {

constexpr Scene scene{"mapped and sought", "DDDDHHUUDDDDDDDD", {2, 0}, {8, 0}};

/// "data 0+4096, hole 4096+8192", as lseek tells it.
struct Sought {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> data;
    [[nodiscard]] bool has(std::uint64_t offset) const {
        return std::ranges::any_of(data,
                                   [&](const auto& part) { return offset >= part.first && offset < part.second; });
    }
    [[nodiscard]] std::string text() const {
        std::string text;
        for (const auto& [begin, end] : data)
            text += fmt::format("{}{}+{}", text.empty() ? "" : ", ", begin, end - begin);
        return text.empty() ? "no data" : "data " + text;
    }
};

/// All data that SEEK_DATA and SEEK_HOLE find. Throws Failure where they contradict each other.
Sought seek(const File& file, std::uint64_t size) {
    Sought sought;
    std::uint64_t at = 0;
    while (at < size) {
        const off_t data = ::lseek(file.descriptor(), static_cast<off_t>(at), SEEK_DATA);
        if (data < 0 && errno == ENXIO) break;
        checked(data, "SEEK_DATA in " + file.path().string());
        const off_t hole = checked(::lseek(file.descriptor(), data, SEEK_HOLE), "SEEK_HOLE in " + file.path().string());
        if (static_cast<std::uint64_t>(data) < at || hole <= data) {
            sought.data.emplace_back(at, at);
            break;
        }
        sought.data.emplace_back(data, hole);
        at = static_cast<std::uint64_t>(hole);
    }
    return sought;
}

/// Where lseek contradicts the model: it has to tell of all data, and to call every hole one.
std::optional<std::string> find_seek_difference(const File& file, const FileModel& model) {
    const Sought sought = seek(file, model.size());
    const std::uint64_t block = model.block();
    for (std::uint64_t at = 0; at < model.size(); at += block) {
        const auto content = model.content().subspan(at, std::min(block, model.size() - at));
        const std::uint64_t index = at / block;
        const BlockState state = index < model.blocks().size() ? model.blocks()[index] : model.beyond();
        if (!is_zeros(content) && !sought.has(at))
            return fmt::format("SEEK_DATA skips data at {} ({})", at, sought.text());
        if (state == BlockState::hole && sought.has(at))
            return fmt::format("the hole at {} counts as data ({})", at, sought.text());
    }
    if (!sought.data.empty() && sought.data.back().second > model.size())
        return fmt::format("data behind the end of file ({})", sought.text());
    const off_t past = ::lseek(file.descriptor(), static_cast<off_t>(model.size()), SEEK_DATA);
    if (past >= 0 || errno != ENXIO) return fmt::format("SEEK_DATA at the end of file finds {}", past);
    return std::nullopt;
}

/// Reads every byte, so that every page is there.
void touch(const Mapping& mapping, std::uint64_t length) {
    const std::vector<std::byte> content(mapping.bytes().begin(),
                                         mapping.bytes().begin() + static_cast<std::ptrdiff_t>(length));
    if (content.size() != length) throw Failure("reading a mapping");
}

struct Outcome {
    std::string mapped;
    std::string sought;
};

Outcome call(const Mode& mode, bool dirty, const std::filesystem::path& path, std::uint32_t number,
             const AllocationUnits& units, std::uint64_t page) {
    Scene own = scene;
    own.dirty = dirty;
    Stage stage = set_up(own, path, number, units);
    const std::uint64_t size = stage.model.size();
    const Mapping mapping(stage.file, 0, 2 * size);
    touch(mapping, size);
    std::uint64_t length = mode.extends() ? 20 * units.step : stage.length;
    std::uint64_t offset = stage.offset;
    if (!mode.moves_data()) {
        offset += 100;
        length -= 200;
    }
    if (dirty) {
        // Beside the range, in it, and behind it; through the mapping.
        for (const std::uint64_t at : {offset / page * page, offset + units.step, 12 * units.step}) {
            const std::size_t count = std::min<std::uint64_t>(page, units.block);
            std::vector<std::byte> data(count);
            fill_data(data, {.file = number, .generation = 2}, at);
            std::ranges::copy(data, mapping.bytes().subspan(at).begin());
            stage.model.write(at, data);
        }
        stage.model.let_holes_be_filled();
    }
    if (const int error = stage.file.fallocate(mode.flags, offset, length); error != 0)
        return {error_name(error), error_name(error)};
    mode.apply(stage.model, offset, length);
    stage.model.let_unwritten_be_zeroed();
    if (dirty) stage.model.let_holes_be_filled();
    const auto difference = compare_content(stage.model, mapping.bytes().first(stage.model.size()));
    const auto sought = find_seek_difference(stage.file, stage.model);
    return {difference ? difference->detail : "right", sought ? *sought : "right"};
}

void run(Experiment& experiment) {
    DisposableFilesystem& filesystem = experiment.filesystem();
    const AllocationUnits units = allocation_units(filesystem);
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const auto modes = supported_modes(filesystem.root(), units.step);
    std::uint32_t number = 0;
    Outcome first{"right", "right"};
    nlohmann::json mapped = {{"modes", names_of(modes)}};
    nlohmann::json sought = mapped;
    for (const Mode& mode : modes) {
        for (const bool dirty : {false, true}) {
            const auto path = filesystem.root() / fmt::format("file-{}", ++number);
            const Outcome outcome = call(mode, dirty, path, number, units, page);
            std::filesystem::remove(path);
            const auto note = [&](std::string& kept, const std::string& now, nlohmann::json& evidence) {
                if (now == "right" || kept != "right") return;
                kept = fmt::format("wrong ({}, {})", mode.name, dirty ? "dirty" : "clean");
                evidence["detail"] = now;
            };
            note(first.mapped, outcome.mapped, mapped);
            note(first.sought, outcome.sought, sought);
        }
    }
    experiment.observe("mapping", first.mapped, mapped);
    experiment.observe("SEEK_DATA and SEEK_HOLE", first.sought, sought);
}

}  // namespace

extern const Case fallocate_seek_and_map;
const Case fallocate_seek_and_map{
    .name = "fallocate.seek_and_map",
    .summary = "calls every mode on a mapped file and looks through the mapping and with SEEK_DATA and SEEK_HOLE",
    .method =
        "Each mode works on a file of data, holes and preallocated blocks, all of which is mapped and has been read, "
        "once clean and once with stores through the mapping that have not reached the disk. The same mapping must "
        "then show what the manual page says, without another call; SEEK_DATA must lead to all data and SEEK_HOLE to "
        "all holes.",
    .needs = {},
    .run = run,
};

}  // namespace holdfast::cases
