// The answer to S4: appends are made asynchronous, while readers race with them. Which rules then hold?
// Contract: a reader sees zeros or the written data; the size moves only when the data is there; and nothing is zeroed at
// the end of file for an append that begins there.

#include <atomic>
#include <chrono>
#include <future>
#include <set>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "fixtures/base/bytes.h"
#include "fixtures/base/failure.h"
#include "fixtures/disk/held/held_disk.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/aio.h"
#include "fixtures/io/reader.h"
#include "fixtures/io/warm_up.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {

namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t blocks_before = 4;
constexpr std::uint64_t appends = 32;

/// What a reader of the appended block saw.
std::string kind_of(std::span<const std::byte> bytes, std::uint64_t offset) {
    for (; !bytes.empty(); bytes = bytes.subspan(sector_size), offset += sector_size) {
        const auto sector = bytes.first<sector_size>();
        const auto seen = identify(sector);
        const auto* data = std::get_if<Data>(&seen);
        if (!is_zeros(sector) && (data == nullptr || data->offset != offset)) return describe(seen);
    }
    return "zeros or data";
}

/// Reads the tail of a file over and over in a thread of its own: behind an append it may have to wait.
class TailReader {
 public:
    TailReader(std::filesystem::path path, std::uint64_t from)
        : thread_([this, path = std::move(path), from] { look(path, from); }) {}
    TailReader(const TailReader&) = delete;
    TailReader& operator=(const TailReader&) = delete;
    ~TailReader() { (void)finish(); }

    /// Everything that it has seen, by kind.
    const std::set<std::string>& finish() {
        ending_ = true;
        if (thread_.joinable()) thread_.join();
        return seen_;
    }

 private:
    void look(const std::filesystem::path& path, std::uint64_t from) {
        try {
            Reader reader{path, Reading::buffered};
            AlignedBuffer bytes{64 * KiB};
            do {
                const auto got = reader.read(from, bytes.bytes()) / sector_size * sector_size;
                seen_.insert(kind_of(bytes.bytes().first(got), from));
            } while (!ending_);
        } catch (const Failure& failure) {
            seen_.insert(failure.what());
        }
    }

    std::atomic<bool> ending_ = false;
    std::set<std::string> seen_;
    std::thread thread_;
};

File prepare(Experiment& experiment, const char* name, std::uint64_t length) {
    const auto path = experiment.filesystem().root() / name;
    AlignedBuffer data{length};
    fill_data(data.bytes(), {.file = 1, .generation = 1}, 0);
    const File file = File::create(path);
    file.write_at(0, data.bytes());
    file.sync_filesystem();
    return File::open(path, O_RDWR | O_DIRECT);
}

/// A direct append whose write the disk holds for a while. What the size is meanwhile tells whether it waits for the data.
void observe_held_append(Experiment& experiment, std::uint64_t block) {
    const auto before = blocks_before * block;
    const auto file = prepare(experiment, "held", before);
    AlignedBuffer data{block};
    fill_data(data.bytes(), {.file = 1, .generation = 2}, before);
    auto hold = experiment.held_disk()->hold(RequestFilter::data_writes());
    auto writer = std::async(std::launch::async, [&] { file.write_at(before, data.bytes()); });
    if (!experiment.held_disk()->served().wait_until_held(1, milliseconds{10000}))
        throw Failure("the append has not come to the disk");
    TailReader reader{file.path(), before};
    std::this_thread::sleep_for(milliseconds{5});
    // No filesystem takes the inode's lock for a stat of the size that no write has moved yet.
    struct stat status {};
    const bool known = ::stat(file.path().c_str(), &status) == 0;
    hold->release();
    writer.get();
    const auto& seen = reader.finish();
    const bool moved = known && static_cast<std::uint64_t>(status.st_size) != before;
    experiment.observe("size while the write is held", moved ? "moved" : "as before", {{"bytes", status.st_size}});
    experiment.observe("readers of held appends see", seen.size() == 1 ? *seen.begin() : "several things",
                       {{"seen", seen}});
    experiment.observe("size afterwards", file.size() == before + block ? "moved" : "as before");
}

/// Appends one after the other, at the end of file and aligned, past a reader; nothing but their data is written.
void observe_plain_appends(Experiment& experiment, std::uint64_t block) {
    auto& disk = experiment.held_disk()->served();
    const auto before = blocks_before * block;
    const auto file = prepare(experiment, "appended", before);
    AlignedBuffer data{appends * block};
    fill_data(data.bytes(), {.file = 1, .generation = 2}, before);
    TailReader reader{file.path(), before};
    const auto logged = disk.log_length();
    for (std::uint64_t number = 0; number < appends; ++number)
        file.write_at(before + number * block, data.bytes().subspan(number * block, block));
    const auto log = disk.log();
    const auto& seen = reader.finish();
    std::uint64_t rewritten = 0;
    std::uint64_t zeroed = 0;
    for (auto index = logged; index < log.size(); ++index) {
        if (log[index].kind == LogEntry::Kind::zero) ++zeroed;
        for (auto other = logged; other < index; ++other)
            if (log[index].kind == LogEntry::Kind::write && log[other].offset == log[index].offset) ++rewritten;
    }
    experiment.observe("readers of appends see", seen.size() == 1 ? *seen.begin() : "several things", {{"seen", seen}});
    experiment.observe("zeroing for appends at the end of file", zeroed + rewritten, {{"writes", log.size() - logged}});
}

void run(Experiment& experiment) {
    if (experiment.recipe().has_mount_option("data=journal"))
        experiment.skip("with data=journal an append goes to the page cache, and there is nothing to hold");
    warm_up(experiment.filesystem().root());
    const auto block = direct_write_unit(experiment.filesystem());
    observe_held_append(experiment, block);
    observe_plain_appends(experiment, block);
}

}  // namespace

extern const Case sources_s5_appends_and_readers;
const Case sources_s5_appends_and_readers{
    .name = "sources.s5_appends_and_readers",
    .summary = "lets readers race with appends, one of which the disk holds, and asks whether the published rules hold",
    .method =
        "A direct append is held by the disk: the size must not move, and a reader must see nothing but zeros and "
        "written data. Then appends follow each other at the end of file, past a reader: no block is zeroed for them. "
        "Published (the XFS developers, 2014): a racing reader sees a hole, an unwritten region or the data; the size "
        "moves only when the data is there; zeroing at the end of file is needed only where a write starts past it. "
        "The races in all their orders are stale_data's.",
    .needs = {{"feature", "fuse"}},
    .disk = DiskNeed::held,
    .only_by_name = true,
    .full = FullSize{.time_bound = std::chrono::seconds{600}},
    .time_bound = std::chrono::seconds{600},
    .run = run,
};

}  // namespace holdfast::cases
