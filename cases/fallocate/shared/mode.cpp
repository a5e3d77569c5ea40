#include "cases/fallocate/shared/mode.h"

#include <array>
#include <cerrno>

#include <linux/falloc.h>

#include "fixtures/base/failure.h"
#include "fixtures/io/file.h"

namespace holdfast::fallocate {

namespace {

using std::uint64_t;

constexpr std::array modes{
    Mode{"default", 0, [](FileModel& m, uint64_t o, uint64_t l) { m.allocate(o, l, false); }},
    Mode{"KEEP_SIZE", FALLOC_FL_KEEP_SIZE, [](FileModel& m, uint64_t o, uint64_t l) { m.allocate(o, l, true); }},
    Mode{"PUNCH_HOLE|KEEP_SIZE", FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
         [](FileModel& m, uint64_t o, uint64_t l) { m.punch(o, l); }},
    Mode{"ZERO_RANGE", FALLOC_FL_ZERO_RANGE, [](FileModel& m, uint64_t o, uint64_t l) { m.zero(o, l, false); }},
    Mode{"ZERO_RANGE|KEEP_SIZE", FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE,
         [](FileModel& m, uint64_t o, uint64_t l) { m.zero(o, l, true); }},
    Mode{"COLLAPSE_RANGE", FALLOC_FL_COLLAPSE_RANGE, [](FileModel& m, uint64_t o, uint64_t l) { m.collapse(o, l); }},
    Mode{"INSERT_RANGE", FALLOC_FL_INSERT_RANGE, [](FileModel& m, uint64_t o, uint64_t l) { m.insert(o, l); }},
    // Where nothing is shared it allocates.
    Mode{"UNSHARE_RANGE", FALLOC_FL_UNSHARE_RANGE,
         [](FileModel& m, uint64_t o, uint64_t l) { m.allocate(o, l, false); }},
    Mode{"WRITE_ZEROES", write_zeroes, [](FileModel& m, uint64_t o, uint64_t l) { m.write_zeroes(o, l); }},
};

}  // namespace

bool Mode::moves_data() const { return (flags & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE)) != 0; }

bool Mode::allocates() const { return !moves_data() && (flags & FALLOC_FL_PUNCH_HOLE) == 0; }

bool Mode::extends() const { return allocates() && (flags & FALLOC_FL_KEEP_SIZE) == 0; }

bool Mode::zeroes() const { return (flags & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE | write_zeroes)) != 0; }

std::span<const Mode> all_modes() { return modes; }

std::vector<Mode> supported_modes(const std::filesystem::path& root, std::uint64_t step) {
    const auto path = root / "modes";
    std::vector<Mode> found;
    for (const Mode& mode : modes) {
        const File file = File::create(path);
        file.truncate(4 * step);
        const int error = file.fallocate(mode.flags, step, step);
        std::filesystem::remove(path);
        if (error != EOPNOTSUPP) found.push_back(mode);
    }
    return found;
}

nlohmann::json names_of(std::span<const Mode> modes) {
    auto names = nlohmann::json::array();
    for (const Mode& mode : modes) names.push_back(mode.name);
    return names;
}

std::string outcome_of(int error, std::string_view good) { return error == 0 ? std::string(good) : error_name(error); }

}  // namespace holdfast::fallocate
