#include "cases/stale_data/shared/crash_model.h"

#include <algorithm>

#include <fmt/format.h>

#include "fixtures/pattern/sector.h"

namespace holdfast {

void CrashModel::add(Sector& sector, const Version& version) {
    if (std::ranges::find(sector.may, version) == sector.may.end()) sector.may.push_back(version);
}

void CrashModel::add(Sector& sector, const Sector& other) {
    for (const auto& version : other.may) add(sector, version);
}

void CrashModel::grow(std::uint64_t end) {
    if (const auto count = end / sector_size; sectors_.size() < count) sectors_.resize(count);
}

void CrashModel::size_may_be(std::uint64_t size) {
    size_ = size;
    smallest_ = std::min(smallest_, size);
    largest_ = std::max(largest_, size);
}

void CrashModel::change(std::uint64_t index, const Version& version) {
    sectors_[index].latest = version;
    add(sectors_[index], version);
    for (const auto& move : moves_) {
        if (index < move.begin) continue;
        if (!move.collapses && index < move.begin + move.length) return;  // those blocks are new
        index = move.collapses ? index + move.length : index - move.length;
        grow((index + 1) * sector_size);
        add(sectors_[index], version);
    }
}

void CrashModel::may_write(Range range, std::uint32_t generation) {
    grow(range.end);
    for (auto at = range.begin; at < range.end; at += sector_size) change(at / sector_size, {file_, generation, at});
    size_may_be(std::max(size_, range.end));
}

void CrashModel::may_zero(Range range) {
    grow(range.end);
    for (auto at = range.begin; at < range.end; at += sector_size) change(at / sector_size, {});
}

void CrashModel::may_resize(std::uint64_t size) {
    grow(size);
    may_zero({size, sectors_.size() * sector_size});
    size_may_be(size);
}

void CrashModel::did_resize(std::uint64_t size) {
    may_resize(size);
    for (auto at = size / sector_size; at < sectors_.size(); ++at) sectors_[at].may = {Version{}};
}

// Filesystems shift extent by extent, each a transaction of its own: in between, what was there, what comes there, and a
// hole are all possible.
void CrashModel::may_collapse(Range range) {
    const auto before = sectors_;
    const auto length = range.length() / sector_size;
    moves_.insert(moves_.begin(), {.begin = range.begin / sector_size, .length = length, .collapses = true});
    for (auto i = range.begin / sector_size; i < before.size(); ++i) {
        auto& sector = sectors_[i];
        const bool behind = i + length >= before.size();
        sector.latest = behind ? Version{} : before[i + length].latest;
        add(sector, Version{});
        if (!behind) add(sector, before[i + length]);
    }
    size_may_be(size_ - range.length());
}

void CrashModel::may_insert(Range range) {
    const auto before = sectors_;
    const auto length = range.length() / sector_size;
    moves_.insert(moves_.begin(), {.begin = range.begin / sector_size, .length = length, .collapses = false});
    grow(size_ + range.length());
    for (auto i = range.begin / sector_size; i < sectors_.size(); ++i) {
        auto& sector = sectors_[i];
        const bool inside = i < range.end / sector_size;
        sector.latest = inside || i - length >= before.size() ? Version{} : before[i - length].latest;
        add(sector, Version{});
        if (!inside && i - length < before.size()) add(sector, before[i - length]);
    }
    size_may_be(size_ + range.length());
}

void CrashModel::may_become(const CrashModel& other) {
    grow(other.size_);
    for (std::size_t i = 0; i < sectors_.size(); ++i) {
        const auto source = i < other.sectors_.size() ? other.sectors_[i] : Sector{};
        add(sectors_[i], source);
        sectors_[i].latest = source.latest;
    }
    size_may_be(other.size_);
}

void CrashModel::may_copy(const CrashModel& other, Range range, std::uint64_t from) {
    grow(range.end);
    for (auto at = range.begin; at < range.end; at += sector_size) {
        const auto index = (from + at - range.begin) / sector_size;
        const auto source = index < other.sectors_.size() ? other.sectors_[index] : Sector{};
        add(sectors_[at / sector_size], source);
        change(at / sector_size, source.latest);
    }
    size_may_be(std::max(size_, range.end));
}

void CrashModel::found(std::span<const std::byte> content) {
    grow(content.size());
    for (std::size_t i = 0; i < sectors_.size(); ++i) {
        sectors_[i].latest = {};
        if ((i + 1) * sector_size > content.size()) continue;
        const auto bytes = content.subspan(i * sector_size).first<sector_size>();
        for (const auto& version : sectors_[i].may)
            if (is(version, bytes)) sectors_[i].latest = version;
    }
    size_may_be(content.size());
}

void CrashModel::promise() {
    for (auto& sector : sectors_) sector.may = {sector.latest};
    moves_.clear();
    smallest_ = largest_ = size_;
}

void CrashModel::judge(std::span<const std::byte> content, std::uint64_t size, std::string_view state,
                       Findings& findings) const {
    if (size < smallest_)
        findings.add_lost(
            fmt::format("file {} has {} bytes, where {} were promised; {}", file_, size, smallest_, state));
    if (size > largest_)
        findings.add_stale(
            fmt::format("file {} has {} bytes, and never had more than {}; {}", file_, size, largest_, state));
    for (std::uint64_t offset = 0; offset + sector_size <= content.size(); offset += sector_size)
        judge_sector(content.subspan(offset).first<sector_size>(), offset, state, findings);
}

void CrashModel::judge_behind(std::span<const std::byte> content, std::uint64_t size, std::string_view state,
                              Findings& findings) const {
    for (std::uint64_t at = 0; at + sector_size <= content.size(); at += sector_size) {
        const auto bytes = content.subspan(at).first<sector_size>();
        if (is_zeros(bytes)) continue;
        Findings found;
        judge_sector(bytes, size + at, state, found);
        if (found.none()) continue;
        findings.add_stale(fmt::format("offset {} of file {} shows {} once it has grown from {} bytes; {}", size + at,
                                       file_, describe(identify(bytes)), size, state));
        return;  // the rest would say the same
    }
}

bool CrashModel::is(const Version& version, std::span<const std::byte, sector_size> bytes) {
    return version.generation == 0 ? is_zeros(bytes)
                                   : is_data(bytes, {version.file, version.generation}, version.offset);
}

void CrashModel::judge_sector(std::span<const std::byte, sector_size> bytes, std::uint64_t offset,
                              std::string_view state, Findings& findings) const {
    static const Sector untouched{};
    const auto index = offset / sector_size;
    const auto& sector = index < sectors_.size() ? sectors_[index] : untouched;
    for (const auto& version : sector.may)
        if (is(version, bytes)) return;
    const auto identity = identify(bytes);
    auto sentence = fmt::format("offset {} of file {} shows {}", offset, file_, describe(identity));
    const auto* const data = std::get_if<Data>(&identity);
    // An older state of its own is a promise broken, not somebody else's data.
    const bool own = std::holds_alternative<Zeros>(identity) ||
                     (data != nullptr && data->tag.file == file_ && data->offset == offset);
    if (own) sentence += ", where newer data was promised";
    sentence += fmt::format("; {}", state);
    if (own)
        findings.add_lost(std::move(sentence));
    else
        findings.add_stale(std::move(sentence));
}

}  // namespace holdfast
