#include "cases/stale_data/shared/judged_read.h"

#include <algorithm>
#include <functional>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "fixtures/base/failure.h"
#include "fixtures/probe/extents.h"

namespace holdfast {
namespace {

void judge_size(std::string_view reader, const FileContent& content, std::uint64_t size, std::uint64_t at_least,
                Findings& findings) {
    if (size < at_least)
        findings.add_lost(
            fmt::format("file {} has {} bytes for {}, where {} must be", content.file(), size, reader, at_least));
}

// What the kernel cannot read is a finding, not a failure of the surroundings. Nothing where it could not.
std::optional<std::size_t> read(Reader& reader, std::uint64_t offset, std::span<std::byte> bytes, Findings& findings) {
    try {
        return reader.read(offset, bytes);
    } catch (const SystemFailure& failure) {
        if (failure.error() != EIO) throw;
        findings.add_unreadable(fmt::format("{} failed: {}", describe(reader.reading()), failure.what()));
        return std::nullopt;
    }
}

// Data that must be there before and after the file is asked for `without`, ranges of it that are said to have none.
bool judge_acknowledged(const FileContent& content, std::string_view what,
                        const std::function<std::vector<Range>(Range)>& without, Findings& findings) {
    const Range whole{0, content.acknowledged_size()};
    const bool in_flight_before = content.in_flight(whole);
    const auto before = content.allowed(whole, 0, View::cached);
    const auto ranges = without(whole);
    const auto after = content.allowed(whole, 0, View::cached);
    const auto is_there = [](const std::vector<Allowed>& stretches, std::uint64_t at) {
        return std::ranges::any_of(stretches, [&](const Allowed& stretch) {
            return stretch.range.begin <= at && at < stretch.range.end && stretch.floor > 0;
        });
    };
    for (const auto& stretch : before) {
        if (stretch.floor == 0) continue;
        for (const auto& range : ranges) {
            const auto begin = std::max(range.begin, stretch.range.begin);
            if (begin >= std::min(range.end, stretch.range.end) || !is_there(after, begin)) continue;
            findings.add_lost(fmt::format("offset {} of file {} is {}, where generation {} must be", begin,
                                          content.file(), what, stretch.floor));
        }
    }
    return in_flight_before || content.in_flight(whole);
}

// The holes that lseek(2) tells of up to `end`.
std::vector<Range> seek_holes(const File& file, std::uint64_t end) {
    std::vector<Range> holes;
    for (std::uint64_t at = 0; at < end;) {
        const auto data = ::lseek(file.descriptor(), static_cast<off_t>(at), SEEK_DATA);
        if (data < 0 && errno != ENXIO)
            throw SystemFailure(fmt::format("lseek to data from {} of {}", at, file.path().string()), errno);
        const auto next = data < 0 ? end : static_cast<std::uint64_t>(data);
        if (next > at) holes.push_back({at, std::min(next, end)});
        if (next >= end) break;
        const auto hole = ::lseek(file.descriptor(), static_cast<off_t>(next), SEEK_HOLE);
        if (hole < 0 && errno == ENXIO) break;  // the file has become shorter
        at = static_cast<std::uint64_t>(
            checked(hole, fmt::format("lseek to a hole from {} of {}", next, file.path().string())));
    }
    return holes;
}

}  // namespace

bool judged_read(Reader& reader, const FileContent& content, Range range, Writers writers, Findings& findings) {
    const auto name = describe(reader.reading());
    const bool mapped = reader.reading() == Reading::mapped;
    const bool direct = reader.reading() == Reading::direct || reader.reading() == Reading::ring_direct;
    const auto view = direct ? View::direct : View::cached;
    std::vector<std::byte> bytes(range.length());

    // The order is what the verdict rests on: see FileContent.
    const auto shrinks = content.shrinks();
    const auto at_least = content.acknowledged_size();
    const auto size = reader.size();
    auto before = content.allowed(range, size, view);
    const bool in_flight_before = content.in_flight(range);
    const auto got = read(reader, range.begin, bytes, findings);
    const auto after = content.allowed(range, size, view);
    const bool in_flight = in_flight_before || content.in_flight(range);

    if (!got) return in_flight;
    const auto count = *got;
    if (mapped && writers == Writers::some)
        for (auto& allowed : before) allowed.floor = 0;
    const bool same_size = shrinks && content.shrinks() == shrinks;
    if (same_size) judge_size(name, content, size, at_least, findings);
    const auto must_read = std::min(range.end, std::max(range.begin, size)) - range.begin;
    if (count < must_read && same_size)
        findings.add_lost(fmt::format("offset {} of file {} is the end of file for {}, where there are {} bytes",
                                      range.begin + count, content.file(), name, size));
    judge_read(content, name, range.begin, std::span{bytes}.first(count), before, after, findings);
    return in_flight;
}

bool judged_seek(const std::filesystem::path& path, const FileContent& content, Findings& findings) {
    const auto file = File::open(path, O_RDONLY);
    return judge_acknowledged(
        content, "a hole to lseek(2)", [&](Range range) { return seek_holes(file, range.end); }, findings);
}

bool judged_map(const std::filesystem::path& path, const FileContent& content, Findings& findings) {
    const auto file = File::open(path, O_RDONLY);
    return judge_acknowledged(
        content, "no written extent to FIEMAP",
        [&](Range range) {
            std::vector<Range> without;
            for (const auto& [state, start, length] : runs(read_extents(file.descriptor()), range.begin, range.end))
                if (state == ExtentState::hole || state == ExtentState::unwritten)
                    without.push_back({start, start + length});
            return without;
        },
        findings);
}

void judge_whole_file(const std::filesystem::path& path, const FileContent& content, Findings& findings) {
    constexpr std::uint64_t unit = 256 * KiB;
    for (const auto reading : {Reading::direct, Reading::buffered, Reading::mapped, Reading::spliced}) {
        Reader reader{path, reading};
        const auto size = reader.size();
        if (size > content.acknowledged_size())
            findings.add_stale(fmt::format("file {} has {} bytes for {}, where {} must be", content.file(), size,
                                           describe(reading), content.acknowledged_size()));
        for (std::uint64_t at = 0; at < size; at += unit)
            judged_read(reader, content, {at, at + unit}, Writers::none, findings);
    }
    judged_seek(path, content, findings);
    judged_map(path, content, findings);
}

void observe_findings(Experiment& experiment, const Findings& findings, nlohmann::json evidence) {
    const auto observe = [&](const char* name, std::uint64_t count, const char* unit,
                             const std::vector<std::string>& first) {
        evidence["first"] = first;
        experiment.observe({.name = name, .value = count, .unit = unit, .evidence = evidence});
    };
    observe("stale", findings.stale(), "sectors", findings.stale_sentences());
    observe("lost", findings.lost(), "sectors", findings.lost_sentences());
    observe("unreadable", findings.unreadable(), "reads", findings.unreadable_sentences());
}

}  // namespace holdfast
