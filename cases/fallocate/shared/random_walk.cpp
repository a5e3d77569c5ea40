#include "cases/fallocate/shared/random_walk.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>

#include "fixtures/base/bytes.h"
#include "fixtures/base/failure.h"
#include "fixtures/io/mapping.h"
#include "fixtures/io/reader.h"
#include "fixtures/io/write_way.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::fallocate {

namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t blocks_at_most = 64;
constexpr std::uint64_t steps_at_most = 6;

std::uint64_t round_down(std::uint64_t value, std::uint64_t unit) { return value / unit * unit; }
std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) { return round_down(value + unit - 1, unit); }

std::optional<Difference> compare(Reader&& reader, const FileModel& model) {
    std::vector<std::byte> content(model.size());
    content.resize(std::min(reader.read(0, content), content.size()));
    auto difference = compare_content(model, content);
    if (difference) difference->detail += fmt::format(" ({})", describe(reader.reading()));
    return difference;
}

}  // namespace

RandomWalk::RandomWalk(std::filesystem::path path, std::uint32_t number, const AllocationUnits& units,
                       std::vector<Mode> modes, Writing writing, std::uint64_t seed)
    : path_(std::move(path)),
      number_(number),
      units_(units),
      modes_(std::move(modes)),
      writing_(writing),
      random_(seed),
      limit_(std::max(blocks_at_most * units.block, steps_at_most * units.step)),
      model_(units.block, units.step),
      file_(File::create(path_)) {
    if (writing == Writing::everywhere) model_.let_holes_be_filled();
}

const File& RandomWalk::file() {
    if (!file_) file_ = File::open(path_, O_RDWR);
    return *file_;
}

void RandomWalk::close() { file_.reset(); }

RandomWalk::Place RandomWalk::any_place(std::uint64_t end, std::uint64_t alignment) {
    const std::uint64_t units = std::max<std::uint64_t>(end / alignment, 1);
    const std::uint64_t first = below(units);
    // Most ranges are short: more of them meet in one block.
    const std::uint64_t longest = std::max<std::uint64_t>((units - first) >> below(5), 1);
    return {first * alignment, (1 + below(longest)) * alignment};
}

void RandomWalk::note(std::string_view call, Place place, std::string_view how) {
    steps_.push_back(fmt::format("{} {} {}+{}{}", steps_.size() + 1, call, place.offset, place.length, how));
}

std::optional<Difference> RandomWalk::step() {
    const std::uint64_t choice = below(100);
    if (choice < 55) {
        if (auto difference = fallocate()) return difference;
    } else if (choice < 76) {
        if (auto difference = write()) return difference;
    } else if (choice < 82 && writing_ == Writing::everywhere) {
        write_mapped();
    } else if (choice < 90) {
        truncate();
    } else if (choice < 95) {
        sync();
    } else {
        drop_cache();
    }
    // Not always: what has been read is in the page cache, and then takes other paths.
    const std::uint64_t view = below(6);
    if (view == 0) return compare_direct();
    if (view == 1) return compare_mapped();
    if (view <= 3) return find_content_difference(model_, file());
    return std::nullopt;
}

std::optional<Difference> RandomWalk::look() {
    return find_difference(model_, file(), units_, copied_ ? Tree::any : Tree::left_from_before);
}

std::optional<Difference> RandomWalk::look_behind_end() {
    const std::uint64_t size = std::max(limit_, model_.size()) + 1;
    file().truncate(size);
    model_.grow(size);
    return find_content_difference(model_, file());
}

std::optional<Difference> RandomWalk::fallocate() {
    const Mode& mode = modes_[below(modes_.size())];
    Place place = any_place(limit_, below(2) == 0 ? 1 : units_.block);
    if (mode.moves_data()) {
        const std::uint64_t whole = round_down(model_.size(), units_.step);
        if (whole < 2 * units_.step) return std::nullopt;
        place = any_place(whole, units_.step);
        const bool collapse = (mode.flags & FALLOC_FL_COLLAPSE_RANGE) != 0;
        if (collapse && place.end() >= model_.size()) return std::nullopt;
        if (!collapse && (place.offset >= model_.size() || model_.size() + place.length > limit_)) return std::nullopt;
    }
    note(mode.name, place);
    const int error = file().fallocate(mode.flags, place.offset, place.length);
    if (error != 0) return Difference{"refused", fmt::format("{} answers {}", steps_.back(), error_name(error))};
    const std::uint64_t old_size = model_.size();
    mode.apply(model_, place.offset, place.length);
    if (model_.size() > old_size) model_.let_end_be_allocated(old_size);
    if ((mode.flags & FALLOC_FL_PUNCH_HOLE) != 0) {
        for (const auto end : {place.offset, place.end(), model_.size()}) model_.let_end_be_allocated(end);
    }
    // A block that is written in part is no longer unwritten, and with it may go its neighbours.
    model_.let_unwritten_be_zeroed();
    if (writing_ == Writing::everywhere) model_.let_holes_be_filled();
    return std::nullopt;
}

void RandomWalk::make_room(std::uint64_t end) {
    if (writing_ == Writing::everywhere || end <= model_.size()) return;
    resize(end);
}

void RandomWalk::written(Place place, std::span<const std::byte> data) {
    model_.write(place.offset, data);
    model_.let_neighbours_be_allocated(place.offset, place.length);
    model_.let_unwritten_be_zeroed();
    if (writing_ == Writing::everywhere) model_.let_holes_be_filled();
}

std::optional<Difference> RandomWalk::write() {
    const auto way = static_cast<WriteWay>(below(static_cast<std::uint64_t>(last_way) + 1));
    const std::uint64_t small = is_direct(way) ? sector_size : 1;
    Place place = any_place(limit_, below(2) == 0 ? small : std::max(units_.block, is_direct(way) ? page : 1));
    if (only_appends(way)) place.offset = model_.size();
    if (place.end() > limit_ + page) return std::nullopt;
    if (!only_appends(way)) make_room(place.end());
    if (only_appends(way) && writing_ == Writing::inside) return std::nullopt;
    std::vector<std::byte> data(place.length);
    fill_data(data, {number_, ++generation_}, place.offset);
    note("write", place, fmt::format(" {}", describe(way)));
    copied_ |= way == WriteWay::copied;
    const auto outcome = write_by(way, path_, place.offset, data);
    if (!outcome.possible) return std::nullopt;
    if (outcome.wrong) return Difference{"wrong answer to a write", *outcome.wrong};
    written(place, data);
    return std::nullopt;
}

void RandomWalk::write_mapped() {
    if (model_.size() == 0) return;
    Place place = any_place(model_.size(), 1);
    place.length = std::min(place.length, model_.size() - place.offset);
    const std::uint64_t first_page = round_down(place.offset, page);
    std::vector<std::byte> data(place.length);
    fill_data(data, {number_, ++generation_}, place.offset);
    note("write through a mapping", place);
    const Mapping mapping(file(), first_page, round_up(place.end(), page) - first_page);
    std::ranges::copy(data, mapping.bytes().subspan(place.offset - first_page).begin());
    written(place, data);
}

void RandomWalk::truncate() {
    std::uint64_t size = below(limit_);
    if (below(3) == 0) size = round_down(size, units_.block);
    resize(size);
}

void RandomWalk::resize(std::uint64_t size) {
    note("ftruncate", {size, 0});
    file().truncate(size);
    model_.let_end_be_allocated(model_.size());
    model_.truncate(size);
    model_.let_end_be_allocated(size);
}

void RandomWalk::sync() {
    const bool data_only = below(2) == 0;
    if (data_only)
        file().datasync();
    else
        file().sync();
    note(data_only ? "fdatasync" : "fsync", {0, 0});
}

void RandomWalk::drop_cache() {
    note("fsync and drop the cache", {0, 0});
    file().sync();
    file().drop_cache();
}

std::optional<Difference> RandomWalk::compare_direct() {
    if (const std::uint64_t size = file().size(); size != model_.size()) return find_content_difference(model_, file());
    return compare(Reader(path_, Reading::direct), model_);
}

std::optional<Difference> RandomWalk::compare_mapped() {
    if (const std::uint64_t size = file().size(); size != model_.size()) return find_content_difference(model_, file());
    if (model_.size() == 0) return std::nullopt;
    const Mapping mapping(file(), 0, round_up(model_.size(), page));
    // The rest of the last page must be zeros, until somebody writes to it through a mapping.
    const auto rest = mapping.bytes().subspan(model_.size());
    if (!is_zeros(rest)) return Difference{"wrong content", "the rest of the last page is not zeros in a mapping"};
    auto difference = compare_content(model_, mapping.bytes().first(model_.size()));
    if (difference) difference->detail += " (through a mapping)";
    return difference;
}

}  // namespace holdfast::fallocate
