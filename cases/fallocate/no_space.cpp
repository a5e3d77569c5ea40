// Fills the filesystem, then asks for more and uses what was preallocated before.
// Contract: fallocate(2) answers ENOSPC and changes nothing; a write into a preallocated range needs no space any more.

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>
#include <unistd.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "cases/fallocate/shared/mode.h"
#include "cases/fallocate/shared/scene.h"
#include "cases/fallocate/shared/space.h"
#include "fixtures/base/bytes.h"
#include "fixtures/base/failure.h"
#include "fixtures/pattern/sector.h"
#include "fixtures/probe/extents.h"

namespace holdfast::cases {

using namespace holdfast::fallocate;

namespace {

constexpr std::uint64_t promised_blocks = 64;
constexpr FileTag promised_data{.file = 2, .generation = 1};

/// Writes every other block of the promised range through `file`, so that its extent is split again and again.
int write_every_other_block(const File& file, std::uint64_t block, std::uint64_t first) {
    AlignedBuffer buffer(block);
    for (std::uint64_t index = first; index < promised_blocks; index += 2) {
        fill_data(buffer.bytes(), promised_data, index * block);
        const auto offset = static_cast<off_t>(index * block);
        if (::pwrite(file.descriptor(), buffer.bytes().data(), block, offset) < 0) return errno;
    }
    return ::fsync(file.descriptor()) == 0 ? 0 : errno;
}

void run(Experiment& experiment) {
    DisposableFilesystem& filesystem = experiment.filesystem();
    const AllocationUnits units = allocation_units(filesystem);
    const Stage bystander = set_up({"bystander", "DDDD", {0, 0}, {1, 0}}, filesystem.root() / "bystander", 1, units);

    const File promised = File::create(filesystem.root() / "promised");
    const int promise = promised.fallocate(FALLOC_FL_KEEP_SIZE, 0, std::max(promised_blocks * units.block, units.step));
    experiment.observe("preallocation", outcome_of(promise),
                       {{"extents", summarize(read_extents(promised.descriptor()))}});
    if (promise != 0) return;
    experiment.observe("size after preallocation", promised.size());
    promised.sync();

    const File filler = File::create(filesystem.root() / "filler");
    const std::uint64_t free = space_of(filler).available;
    fill(filler, units.block, 2 * filesystem.disk().size());

    const int refused = bystander.file.fallocate(0, 2 * units.step, 1 * MiB + 8 * units.step);
    const auto difference = find_difference(bystander.model, bystander.file, units);
    experiment.observe("fallocate on the full filesystem", outcome_of(refused), describe_file(bystander.file));
    experiment.observe("file afterwards", difference ? difference->what : "unchanged",
                       {{"detail", difference ? difference->detail : ""}});

    const File direct = File::open(promised.path(), O_RDWR | O_DIRECT);
    experiment.observe("direct writes into the preallocation",
                       outcome_of(write_every_other_block(direct, units.block, 0)));
    experiment.observe("buffered writes into the preallocation",
                       outcome_of(write_every_other_block(promised, units.block, 1)));
    std::vector<std::byte> content(promised_blocks * units.block);
    const bool whole = promised.read_at(0, content) == content.size() && is_data(content, promised_data, 0);
    experiment.observe("data written", whole ? "kept" : "lost",
                       {{"extents", summarize(read_extents(promised.descriptor()))}});

    // Whether or not the disk knows of it yet.
    filler.truncate(0);
    const auto next = File::create(filesystem.root() / "next");
    experiment.observe("fallocate of half of what another file has just given up",
                       outcome_of(next.fallocate(0, 0, free / 2 / units.step * units.step)), {{"free before", free}});
}

}  // namespace

extern const Case fallocate_no_space;
const Case fallocate_no_space{
    .name = "fallocate.no_space",
    .summary = "fills the filesystem, then preallocates more and writes into what was preallocated before",
    .method =
        "A range is preallocated with KEEP_SIZE, then another file takes all space. fallocate of a third file must "
        "fail with ENOSPC and change nothing. Then every other block of the preallocated range is written with direct "
        "I/O, the rest with buffered I/O and fsync: nothing may fail for want of space, not even for the extents that "
        "the writes split. In the end the other file is emptied, and half of what it has given up must be there for "
        "the next call at once.",
    .run = run,
};

}  // namespace holdfast::cases
