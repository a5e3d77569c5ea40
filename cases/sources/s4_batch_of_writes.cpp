// Submits many sequential direct writes of 4 KiB in one io_submit, into a preallocated file and as appends, on a SAN array.
// Published: appended, they take 51 times as long, because every appending submission waits for its write.

#include <vector>

#include <fcntl.h>
#include <fmt/format.h>

#include "cases/case.h"
#include "cases/sources/shared/allocation.h"
#include "cases/sources/shared/modelled_disk.h"
#include "fixtures/base/bytes.h"
#include "fixtures/base/failure.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/aio.h"
#include "fixtures/io/warm_up.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {

using namespace holdfast::sources;

namespace {

// Of 4 KiB; of larger blocks there are fewer in full, so that they come to the same size.
constexpr unsigned few_writes = 2048;
constexpr unsigned published_writes = 524'288;

// One io_submit for all, fdatasync, and only then the events.
void submit_all(const File& file, std::span<const std::byte> data, std::uint64_t block) {
    const auto writes = static_cast<unsigned>(data.size() / block);
    AioContext context{writes};
    std::vector<iocb> requests;
    for (std::uint64_t number = 0; number < writes; ++number)
        requests.push_back(prepare_write(file, number * block, data.subspan(number * block, block), number));
    context.submit(requests);
    file.datasync();
    for (std::size_t reaped = 0; reaped < writes;)
        for (const auto& event : context.wait()) {
            if (event.result != static_cast<std::int64_t>(block))
                throw SystemFailure("a write of the batch", static_cast<int>(-event.result));
            ++reaped;
        }
}

void run(Experiment& experiment) {
    const auto block = direct_write_unit(experiment.filesystem());
    const auto writes = experiment.full() ? published_writes * 4 * KiB / block : few_writes;
    ModelledDisk disk{experiment, "san",
                      writes == published_writes ? "nothing: 524288 writes, as published"
                                                 : fmt::format("{} writes in place of 524288", writes)};
    warm_up(experiment.filesystem().root());
    AlignedBuffer data{writes * block};
    fill_data(data.bytes(), {.file = 1, .generation = 1}, 0);
    const auto prepared = File::create(experiment.filesystem().root() / "preallocated", O_DIRECT);
    allocate(prepared, Allocation::fallocate_or_write, writes * block);
    prepared.sync();
    const auto appended = File::create(experiment.filesystem().root() / "appended", O_DIRECT);
    appended.sync();

    const auto into_prepared = disk.cost_of([&] { submit_all(prepared, data.bytes(), block); });
    const auto append = disk.cost_of([&] { submit_all(appended, data.bytes(), block); });
    disk.observe_ratio("appended / preallocated", append, into_prepared,
                       {{"preallocated", "744.8 MiB/s, 190660 requests/s"},
                        {"appended", "14.67 MB/s, 3755 requests/s"},
                        {"ratio", 51}});
    experiment.observe("preallocated, under way at once", into_prepared.at_once);
    experiment.observe("appended, under way at once", append.at_once);
}

}  // namespace

extern const Case sources_s4_batch_of_writes;
const Case sources_s4_batch_of_writes{
    .name = "sources.s4_batch_of_writes",
    .summary = "submits many direct writes in one io_submit on a SAN array, into a preallocated file and as appends",
    .method =
        "Writes of 4 KiB (or of a block, where blocks are larger) in a row are submitted in one io_submit, then comes "
        "fdatasync, then the events are reaped, on a modelled SAN array; the time is the device's own. Where the "
        "filesystem cannot preallocate, the file is written before. Published (2014, 524288 writes): preallocated "
        "744.8 MiB/s in 190660 requests a second, appended 14.67 MB/s in 3755 requests a second, 51 times as long: "
        "every appending submission waits for its write, so that one is under way at a time. Through dd: 373 MB/s.",
    .needs = {{"feature", "fuse"}},
    .disk = DiskNeed::held,
    .only_by_name = true,
    .full = FullSize{.filesystem = 6 * GiB,
                     .memory = 3 * GiB,
                     .needs = {{"aio_requests", std::to_string(published_writes)}},
                     .time_bound = std::chrono::seconds{2 * 3600}},
    .time_bound = std::chrono::seconds{600},
    .run = run,
};

}  // namespace holdfast::cases
