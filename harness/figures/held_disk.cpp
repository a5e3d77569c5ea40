// Measures what a held disk costs when nothing is held, for the README: fio on a plain loop device, and on held disks.
// Prints a table. Rounds are interleaved; medians.
#include "fixtures/disk/held/held_disk.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "fixtures/base/aligned_buffer.h"
#include "fixtures/base/bytes.h"
#include "fixtures/base/child_process.h"
#include "fixtures/base/failure.h"
#include "fixtures/disk/file_disk.h"
#include "fixtures/disk/held/server.h"
#include "fixtures/disk/run_directory.h"

namespace holdfast {
namespace {

constexpr std::uint64_t disk_size = 256 * MiB;
constexpr int rounds = 5;
constexpr int default_seconds = 5;
constexpr int deep = 32;

struct Speed {
    /// Writes a second.
    double iops;
    /// From io_submit to completion, the mean, in microseconds.
    double latency;
};

Speed run_fio(const Disk& disk, int depth, int seconds) {
    const std::vector<std::string> arguments{"--name=figures",
                                             "--filename=" + disk.device_path(),
                                             "--ioengine=libaio",
                                             "--direct=1",
                                             "--rw=randwrite",
                                             "--bs=4k",
                                             fmt::format("--iodepth={}", depth),
                                             "--numjobs=1",
                                             "--time_based",
                                             fmt::format("--runtime={}", seconds),
                                             "--output-format=json"};
    const auto run = run_tool("fio", arguments);
    if (!run.ending.success()) throw Failure(fmt::format("{}: {}", format_command("fio", arguments), run.output));
    // What fio has to complain about comes before.
    const auto report = nlohmann::json::parse(run.output.substr(std::min(run.output.find('{'), run.output.size())));
    const auto& write = report.at("jobs").at(0).at("write");
    return {.iops = write.at("iops"), .latency = write.at("lat_ns").at("mean").get<double>() / 1000};
}

// A disk's kind, and what was measured of it. Each round has a disk of its own: a log of writes only grows.
struct Subject {
    const char* name;
    std::function<std::unique_ptr<Disk>()> make;
    std::vector<double> iops{};
    std::vector<double> latency{};

    // Once over all of the disk first, so that no block is new.
    void measure(int seconds) {
        const auto disk = make();
        const AlignedBuffer zeros{1 * MiB};
        for (std::uint64_t at = 0; at < disk->size(); at += zeros.size()) disk->write_medium(at, zeros.bytes());
        latency.push_back(run_fio(*disk, 1, seconds).latency);
        iops.push_back(run_fio(*disk, deep, seconds).iops);
    }
};

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

std::vector<Subject> subjects(const RunDirectory& directory) {
    const auto held = [](LogDepth depth) {
        return [depth] { return std::make_unique<HeldDisk>(DiskServer::start(), disk_size, depth); };
    };
    return {{"a plain loop device",
             [&] { return std::make_unique<FileDisk>(directory.create_image(disk_size), disk_size); }},
            {"held disk, no log", held(LogDepth::off)},
            {"held disk, log of entries", held(LogDepth::entries)},
            {"held disk, log with content", held(LogDepth::content)}};
}

std::string load() {
    std::array<double, 3> averages{};
    return ::getloadavg(averages.data(), 3) == 3 ? fmt::format("{:.1f}", averages[0]) : "unknown";
}

void print(const std::vector<Subject>& all) {
    fmt::print("| disk | IOPS at depth {} | of the plain one | latency at depth 1, us | more, us |\n", deep);
    fmt::print("| --- | --- | --- | --- | --- |\n");
    const auto iops = median(all.front().iops);
    const auto latency = median(all.front().latency);
    for (const auto& one : all)
        fmt::print("| {} | {:.0f} | {:.2f} | {:.1f} | {:.1f} |\n", one.name, median(one.iops), median(one.iops) / iops,
                   median(one.latency), median(one.latency) - latency);
}

void measure(int seconds) {
    const auto before = load();
    const auto directory = RunDirectory::in_memory();
    auto all = subjects(directory);
    for (int round = 0; round < rounds; ++round)
        for (auto& one : all) one.measure(seconds);
    print(all);
    fmt::print("\nMedians of {} rounds of {} s; 4 KiB random writes; load average {} before, {} after.\n", rounds,
               seconds, before, load());
}

}  // namespace
}  // namespace holdfast

// figures-held-disk [SECONDS]
int main(int argc, char** argv) {
    if (const int socket = holdfast::disk_server_socket(argc, argv); socket >= 0)
        return holdfast::run_disk_server(socket);
    try {
        if (!holdfast::find_tool("fio")) throw holdfast::Failure("fio is not installed (apt-get install fio)");
        holdfast::measure(argc > 1 ? std::max(std::atoi(argv[1]), 1) : holdfast::default_seconds);
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 3;
    }
}
