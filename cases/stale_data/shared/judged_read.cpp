#include "cases/stale_data/shared/judged_read.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "fixtures/base/failure.h"

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

}  // namespace

bool judged_read(Reader& reader, const FileContent& content, Range range, Writers writers, Findings& findings) {
    const auto name = describe(reader.reading());
    const bool mapped = reader.reading() == Reading::mapped;
    const auto view = reader.reading() == Reading::direct ? View::direct : View::cached;
    std::vector<std::byte> bytes(range.length());

    // The order is what the verdict rests on: see FileContent.
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
    judge_size(name, content, size, at_least, findings);
    const auto must_read = std::min(range.end, std::max(range.begin, size)) - range.begin;
    if (count < must_read)
        findings.add_lost(fmt::format("offset {} of file {} is the end of file for {}, where there are {} bytes",
                                      range.begin + count, content.file(), name, size));
    judge_read(content, name, range.begin, std::span{bytes}.first(count), before, after, findings);
    return in_flight;
}

void judge_whole_file(const std::filesystem::path& path, const FileContent& content, Findings& findings) {
    constexpr std::uint64_t unit = 256 * KiB;
    for (const auto reading : {Reading::direct, Reading::buffered, Reading::mapped}) {
        Reader reader{path, reading};
        const auto size = reader.size();
        if (size > content.acknowledged_size())
            findings.add_stale(fmt::format("file {} has {} bytes for {}, where {} must be", content.file(), size,
                                           describe(reading), content.acknowledged_size()));
        for (std::uint64_t at = 0; at < size; at += unit)
            judged_read(reader, content, {at, at + unit}, Writers::none, findings);
    }
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
