// Measures the engine of random writes beside fio: the same job on the same files, in interleaved rounds. Prints a table.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "fixtures/base/bytes.h"
#include "fixtures/base/child_process.h"
#include "fixtures/base/failure.h"
#include "fixtures/filesystem/disposable.h"
#include "fixtures/io/file.h"
#include "fixtures/io/random_writes.h"
#include "fixtures/measure/ratio.h"

namespace holdfast {
namespace {

constexpr std::uint64_t file_size = 32 * MiB;
constexpr unsigned files = 4;
constexpr unsigned rounds = 5;

std::vector<std::filesystem::path> make_files(const std::filesystem::path& root) {
    std::vector<std::filesystem::path> paths;
    const std::vector<std::byte> zeros(file_size);
    for (unsigned number = 0; number < files; ++number) {
        const auto file = File::create(root / fmt::format("job.{}.0", number));
        file.write_at(0, zeros);
        file.sync();
        paths.push_back(file.path());
    }
    return paths;
}

double run_fio(const RandomWrites& job) {
    const std::vector<std::string> arguments{"--name=job",
                                             "--directory=" + job.files.front().parent_path().string(),
                                             fmt::format("--ioengine={}", name_of(job.engine)),
                                             "--direct=1",
                                             "--rw=randwrite",
                                             "--norandommap",
                                             "--fallocate=none",
                                             fmt::format("--bs={}", job.block),
                                             fmt::format("--size={}", job.size),
                                             fmt::format("--iodepth={}", job.depth),
                                             fmt::format("--numjobs={}", job.files.size()),
                                             "--thread",
                                             "--group_reporting",
                                             "--time_based",
                                             fmt::format("--runtime={}ms", job.duration.count()),
                                             "--output-format=json"};
    const auto run = run_tool("fio", arguments);
    if (!run.ending.success()) throw Failure(fmt::format("{}: {}", format_command("fio", arguments), run.output));
    const auto report = nlohmann::json::parse(run.output.substr(std::min(run.output.find('{'), run.output.size())));
    return report.at("jobs").at(0).at("write").at("iops");
}

void measure(const Recipe& recipe, std::chrono::milliseconds duration) {
    const auto directory = RunDirectory::in_memory();
    DisposableFilesystem filesystem{recipe, directory, DiskKind::zeroed_file};
    RandomWrites job{.files = make_files(filesystem.root()), .size = file_size, .duration = duration};
    fmt::print("{}\n| engine | depth | fio, IOPS | ours, IOPS | ours / fio | 95 % |\n", recipe.name);
    fmt::print("| --- | --- | --- | --- | --- | --- |\n");
    for (const auto engine : {WriteEngine::libaio, WriteEngine::io_uring, WriteEngine::synchronous}) {
        for (const unsigned depth : {1U, 32U, 1024U}) {
            if (engine == WriteEngine::synchronous && depth > 1) continue;
            job.engine = engine;
            job.depth = depth;
            std::vector<double> fio;
            std::vector<double> ours;
            const auto ratios = measure_interleaved(
                rounds, [&] { return fio.emplace_back(run_fio(job)); },
                [&] { return ours.emplace_back(do_random_writes(job)); });
            const auto ratio = estimate(ratios, 1);
            std::ranges::sort(fio);
            std::ranges::sort(ours);
            fmt::print("| {} | {} | {:.0f} | {:.0f} | {:.2f} | {:.2f} to {:.2f} |\n", name_of(engine), depth,
                       fio[fio.size() / 2], ours[ours.size() / 2], ratio.median, ratio.low, ratio.high);
        }
    }
}

}  // namespace
}  // namespace holdfast

// figures-write-engine [MILLISECONDS [FILESYSTEM]]
int main(int argc, char** argv) {
    try {
        if (!holdfast::find_tool("fio")) throw holdfast::Failure("fio is not installed (apt-get install fio)");
        holdfast::measure(holdfast::shipped_recipe(argc > 2 ? argv[2] : "ext4"),
                          std::chrono::milliseconds{argc > 1 ? std::max(std::atoi(argv[1]), 100) : 1000});
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 3;
    }
}
