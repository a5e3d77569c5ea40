// Writes on a nearly full disk, where a filesystem has taken space for other files in advance.
// Contract: what a filesystem takes in advance, on its own account, for files that may grow, is there for a write that finds
// no other space (write(2), ENOSPC: no room for the data).
#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "cases/fallocate/shared/space.h"
#include "fixtures/base/failure.h"
#include "fixtures/io/file.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {

using namespace holdfast::fallocate;

namespace {

constexpr std::uint64_t grown = 24 * MiB;
constexpr std::uint64_t piece = 1 * MiB;

std::uint64_t occupied(const File& file) {
    struct stat status {};
    checked(::fstat(file.descriptor(), &status), "fstat of " + file.path().string());
    return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

std::vector<std::byte> data_of(std::uint32_t number, std::uint64_t offset) {
    std::vector<std::byte> data(piece);
    fill_data(data, {number, 1}, offset);
    return data;
}

bool is_right(const File& file, std::uint32_t number, std::uint64_t length) {
    std::vector<std::byte> found(piece);
    for (std::uint64_t at = 0; at < length; at += piece)
        if (file.read_at(at, found) != piece || !is_data(found, {number, 1}, at)) return false;
    return true;
}

void run(Experiment& experiment) {
    auto& filesystem = experiment.filesystem();
    const auto& root = filesystem.root();
    // It grows by appends, and stays open.
    const auto growing = File::create(root / "growing");
    for (std::uint64_t at = 0; at < grown; at += piece) growing.write_at(at, data_of(1, at));
    growing.sync();
    const auto taken = occupied(growing);
    const auto in_advance = taken > grown ? taken - grown : 0;

    const auto before = space_of(growing).available;
    constexpr std::uint64_t left = 3 * MiB;
    const auto ballast = File::create(root / "ballast");
    const auto weight = (before > left ? before - left : 0) / piece * piece;
    if (const int error = ballast.fallocate(FALLOC_FL_KEEP_SIZE, 0, weight); error == EOPNOTSUPP)
        experiment.skip("fallocate(2) is not supported here");
    else if (error != 0)
        throw SystemFailure("fallocate of " + ballast.path().string(), error);

    // Where enough was taken in advance, more than is left without it; else a part of what is left.
    const auto wanted = (in_advance > 2 * left ? left + in_advance / 2 : left / 2) / piece * piece;
    const auto file = File::create(root / "file");
    std::uint64_t written = 0;
    int error = 0;
    for (; written < wanted && error == 0; written += piece) {
        const auto data = data_of(2, written);
        const auto count = ::pwrite(file.descriptor(), data.data(), data.size(), static_cast<off_t>(written));
        if (count != static_cast<ssize_t>(piece)) error = count < 0 ? errno : ENOSPC;
    }
    if (error == 0 && ::fsync(file.descriptor()) != 0) error = errno;
    experiment.observe("write", error == 0 ? "works" : error_name(error),
                       {{"taken in advance", in_advance}, {"left", space_of(file).available}, {"wanted", wanted}});
    const bool right = is_right(growing, 1, grown) && (error != 0 || is_right(file, 2, wanted));
    experiment.observe("content", right ? "right" : "wrong");
}

}  // namespace

extern const Case stale_data_space_in_advance;
const Case stale_data_space_in_advance{
    .name = "stale_data.space_in_advance",
    .summary = "writes on a nearly full disk on which space was taken in advance for a file that grew",
    .method =
        "A file grows by appends to 24 MiB, for which XFS takes space in advance, and stays open; another file gets "
        "all of the rest but 3 MiB. A third one is then written through the page cache, by more than is left where "
        "enough was taken in advance: that must be given back. Both files' data is read.",
    .run = run,
};

}  // namespace holdfast::cases
