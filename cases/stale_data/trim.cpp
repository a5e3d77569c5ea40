// Trims free space between files that were written, preallocated and removed, and reads the files.
// Contract: a trim gives back what is free, and nothing else (fstrim(8)): no file, and nothing of the filesystem's own,
// depends on what was given back.
#include <algorithm>
#include <cerrno>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "fixtures/base/failure.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/file.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {
namespace {

class Trim {
 public:
    explicit Trim(Experiment& experiment)
        : experiment_(experiment),
          root_(experiment.filesystem().root()),
          unit_(direct_write_unit(experiment.filesystem())),
          random_(experiment.seed()) {}

    void run() {
        for (int round = 0; round < 3; ++round) {
            write_and_remove();
            // In the last round, before what was removed is free on the disk.
            if (round < 2) File::open(root_, O_RDONLY | O_DIRECTORY).sync_filesystem();
            trim();
        }
        experiment_.filesystem().remount();
        for (const auto& file : files_) look_at(file);
        experiment_.observe("content", wrong_.empty() ? "right" : wrong_.front(), {{"all", wrong_}});
        experiment_.observe("trimmed", trimmed_ > 0 ? "something" : "nothing", {{"bytes", trimmed_}});
    }

 private:
    struct Written {
        std::uint32_t number;
        std::uint64_t size;
        std::uint64_t allocated;
        [[nodiscard]] std::string name() const { return fmt::format("file-{}", number); }
    };

    // Files of a few blocks, and every second is gone again: free space then lies before and behind all others.
    void write_and_remove() {
        std::vector<Written> fresh;
        for (int i = 0; i < 60; ++i) {
            const Written written{++number_, (1 + random_() % 8) * unit_, random_() % 4 * unit_};
            const auto file = File::create(root_ / written.name());
            std::vector<std::byte> data(written.size);
            fill_data(data, {written.number, 1}, 0);
            file.write_at(0, data);
            if (written.allocated > 0) {
                const int error = file.fallocate(0, written.size, written.allocated);
                if (error == EOPNOTSUPP)
                    file.truncate(written.size + written.allocated);
                else if (error != 0)
                    throw SystemFailure("fallocate of " + file.path().string(), error);
            }
            file.sync();
            fresh.push_back(written);
        }
        for (std::size_t i = 0; i < fresh.size(); ++i) {
            if (i % 2 == 0)
                std::filesystem::remove(root_ / fresh[i].name());
            else
                files_.push_back(fresh[i]);
        }
    }

    void trim() {
        const auto root = File::open(root_, O_RDONLY | O_DIRECTORY);
        fstrim_range range{0, std::numeric_limits<std::uint64_t>::max(), 0};
        if (::ioctl(root.descriptor(), FITRIM, &range) != 0) {
            if (errno == EOPNOTSUPP) experiment_.skip("FITRIM is EOPNOTSUPP here");
            throw SystemFailure("FITRIM of " + root_.string(), errno);
        }
        trimmed_ += range.len;
    }

    void look_at(const Written& written) {
        const auto file = File::open(root_ / written.name(), O_RDONLY);
        std::vector<std::byte> content(written.size + written.allocated);
        content.resize(file.read_at(0, content));
        const auto data = std::span(content).first(std::min<std::uint64_t>(written.size, content.size()));
        if (content.size() == written.size + written.allocated && is_data(data, {written.number, 1}, 0) &&
            is_zeros(std::span(content).subspan(written.size)))
            return;
        wrong_.push_back(fmt::format("{} of {} bytes of data, {} bytes preallocated: {}", written.name(), written.size,
                                     written.allocated, first_wrong(content, written)));
    }
    [[nodiscard]] static std::string first_wrong(std::span<const std::byte> content, const Written& written) {
        if (content.size() != written.size + written.allocated) return fmt::format("{} bytes", content.size());
        for (std::uint64_t at = 0; at < content.size(); at += sector_size) {
            const auto sector = content.subspan(at).first<sector_size>();
            const bool right = at < written.size ? is_data(sector, {written.number, 1}, at) : is_zeros(sector);
            if (!right) return fmt::format("{} at byte {}", describe(identify(sector)), at);
        }
        return "right";
    }

    Experiment& experiment_;
    std::filesystem::path root_;
    std::uint64_t unit_;
    std::mt19937_64 random_;
    std::uint32_t number_ = 0;
    std::vector<Written> files_;
    std::vector<std::string> wrong_;
    std::uint64_t trimmed_ = 0;
};

void run(Experiment& experiment) { Trim{experiment}.run(); }

}  // namespace

extern const Case stale_data_trim;
const Case stale_data_trim{
    .name = "stale_data.trim",
    .summary = "trims free space between files, every second of which was removed, and reads those that are left",
    .method =
        "Three times, sixty files of a few blocks, some with preallocated blocks behind their data, are written and "
        "synced, and every second is removed; then all free space is trimmed (FITRIM), in the last round before what "
        "was removed is free on the disk. The disk forgets what it is told to: it reads as zeros from then on. After a "
        "remount all files that are left must be whole, and fsck looks at the rest when the case ends.",
    .run = run,
};

}  // namespace holdfast::cases
