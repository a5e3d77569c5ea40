#include "cases/sources/shared/log_files.h"

#include <filesystem>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>

#include "fixtures/base/bytes.h"

namespace holdfast::sources {

DeviceCost cost_of(Experiment& experiment, ModelledDisk& disk, const LogFiles& what, Allocation method,
                   unsigned& wrong_sizes) {
    std::vector<std::filesystem::path> paths;
    for (unsigned number = 0; number < what.files; ++number)
        paths.push_back(experiment.filesystem().root() / fmt::format("log {}", number));
    const auto cost = disk.cost_of([&] {
        for (const auto& path : paths) {
            {
                const File file = File::create(path);
                allocate(file, method, what.size);
                file.sync();
            }
            const File file = File::open(path, O_RDWR);
            for (unsigned pass = 0; pass < what.rewrites; ++pass) {
                rewrite(file, what.size, 8 * KiB, pass + 1);
                file.datasync();
            }
        }
    });
    for (const auto& path : paths) {
        if (std::filesystem::file_size(path) != what.size) ++wrong_sizes;
        std::filesystem::remove(path);
    }
    return cost;
}

}  // namespace holdfast::sources
