// What a second power cut leaves: during the recovery from the first, and after something more was written.
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include "cases/stale_data/shared/crash.h"
#include "fixtures/base/failure.h"
#include "fixtures/disk/held/held_disk.h"
#include "fixtures/pattern/sector.h"

namespace holdfast {
namespace {

constexpr std::uint32_t afterwards_number = 1000;
constexpr const char* afterwards_name = "afterwards";
constexpr std::uint64_t afterwards_size = 64 * KiB;

void write_afterwards(const std::filesystem::path& root) {
    std::vector<std::byte> data(afterwards_size);
    fill_data(data, {afterwards_number, 1}, 0);
    const auto file = File::create(root / afterwards_name);
    file.write_at(0, data);
    file.sync();
    File::open(root, O_RDONLY | O_DIRECTORY).sync();
}

std::string judge_afterwards(const std::filesystem::path& root) {
    const auto file = File::open(root / afterwards_name, O_RDONLY);
    std::vector<std::byte> data(file.size());
    data.resize(file.read_at(0, data));
    if (data.size() != afterwards_size) return fmt::format("{} of {} bytes", data.size(), afterwards_size);
    return is_data(data, {afterwards_number, 1}, 0) ? "there" : "other data";
}

}  // namespace

void CrashTest::cut_recovery(std::uint64_t cut, std::span<const std::uint64_t> keep, std::string& afterwards,
                             std::mt19937_64& random) {
    const Descriptor snapshot{checked(::memfd_create("crashed", MFD_CLOEXEC), "memfd_create")};
    disk_.crash_state(keep)->served().save(snapshot.get());
    const auto server = DiskServer::start();
    auto disk = std::make_unique<HeldDisk>(server, disk_.size(), LogDepth::content, snapshot.get());
    auto& crashed = *disk;
    DisposableFilesystem filesystem{experiment_.recipe(), std::move(disk)};
    const auto recovered = crashed.served().log_length();
    write_afterwards(filesystem.root());
    const auto log = crashed.served().log();
    filesystem.unmount();

    constexpr std::uint64_t moments = 4;
    for (std::uint64_t i = 0; i < moments; ++i)
        for (const auto kept : {Kept::certain, Kept::random}) {
            const auto moment = recovered * i / (moments - 1);
            judge_disk(crashed.crash_state(kept_of(log, moment, kept, random)), cut,
                       fmt::format("power cut after write {} of {}, and again after write {} of {} of the recovery",
                                   cut - begin_, log_length() - begin_, moment, recovered));
        }
    try {
        DisposableFilesystem again{experiment_.recipe(),
                                   crashed.crash_state(kept_of(log, log.size(), Kept::certain, random))};
        if (const auto found = judge_afterwards(again.root()); found != "there") afterwards = found;
    } catch (const Failure& failure) {
        afterwards = failure.what();
    }
}

void CrashTest::cut_power_in_recovery() {
    const auto log = disk_.served().log();
    std::mt19937_64 random{experiment_.seed()};
    const auto start = std::chrono::steady_clock::now();
    std::string afterwards = "there";
    const auto moments = promises();
    const auto middle = moments.at(moments.size() / 2);
    cut_recovery(middle, kept_of(log, middle, Kept::all, random), afterwards, random);
    cut_recovery(moments.back(), kept_of(log, moments.back(), Kept::certain, random), afterwards, random);
    observe(start);
    experiment_.observe("afterwards", afterwards);
}

}  // namespace holdfast
