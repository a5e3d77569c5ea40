#include "cases/stale_data/shared/judged_read.h"

#include <algorithm>

#include <fmt/format.h>

namespace holdfast {
namespace {

void judge_size(std::string_view reader, const FileContent& content, std::uint64_t size, std::uint64_t at_least,
                Findings& findings) {
    if (size < at_least)
        findings.add_lost(
            fmt::format("file {} has {} bytes for {}, where {} must be", content.file(), size, reader, at_least));
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
    const auto count = reader.read(range.begin, bytes);
    const auto after = content.allowed(range, size, view);
    const bool in_flight = in_flight_before || content.in_flight(range);

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
    auto stale = evidence;
    stale["first"] = findings.stale_sentences();
    experiment.observe({.name = "stale", .value = findings.stale(), .unit = "sectors", .evidence = std::move(stale)});
    evidence["first"] = findings.lost_sentences();
    experiment.observe({.name = "lost", .value = findings.lost(), .unit = "sectors", .evidence = std::move(evidence)});
}

}  // namespace holdfast
