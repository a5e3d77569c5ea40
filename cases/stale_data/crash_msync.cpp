// Cuts the power in the moment in which msync(2) of a part of a mapping has returned.
// Contract: what was stored in that part is there, and with it the end of file behind which it lies (msync(2), MS_SYNC); of
// what was stored elsewhere, any part may be.
#include <algorithm>
#include <array>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include "cases/stale_data/shared/crash.h"
#include "fixtures/base/failure.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/mapping.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::cases {
namespace {

class Msync {
 public:
    explicit Msync(Experiment& experiment) : test_(experiment), unit_(direct_write_unit(experiment.filesystem())) {}

    void run() {
        auto& data = test_.create();
        data.write_buffered({0, 64 * unit_});
        data.fsync();
        store_apart(data);
        auto& hole = test_.create();
        hole.truncate(64 * unit_);
        hole.fsync();
        store_apart(hole);
        auto& preallocated = test_.create();
        if (preallocated.allocate(0, {0, 64 * unit_})) {
            preallocated.fsync();
            store_apart(preallocated);
        }
        store_in_last_page(test_.create());
        test_.cut_power_at_promises();
    }

 private:
    struct Mapped {
        CrashTest::WrittenFile& file;
        File opened;
        Mapping mapping;

        Mapped(CrashTest::WrittenFile& of, std::uint64_t length)
            : file(of), opened(File::open(of.path(), O_RDWR)), mapping(opened, 0, length) {}
        void store(Range range) const {
            const auto bytes = file.begin_write(range);
            std::ranges::copy(bytes.bytes(), mapping.bytes().subspan(range.begin).begin());
        }
        void sync(Range range) const {
            checked(::msync(mapping.bytes().data() + range.begin, range.length(), MS_SYNC),
                    fmt::format("msync of {} bytes at {} of {}", range.length(), range.begin, file.path().string()));
        }
    };

    // Twice: the pages were clean in between, and are mapped all the time.
    void store_apart(CrashTest::WrittenFile& file) const {
        const Range first{2 * unit_, 5 * unit_};
        const Range second{40 * unit_, 43 * unit_};
        const Mapped mapped{file, 64 * unit_};
        for (int round = 0; round < 2; ++round) {
            mapped.store(second);
            mapped.sync(second);
            file.promise_all();
            mapped.store(first);
            const auto before_second = file.calls_so_far();
            mapped.store(second);
            mapped.sync(first);
            file.promise_first(before_second);
            mapped.sync(second);
            file.promise_all();
        }
    }

    // The file has grown by parts of a page and of a block, and only what is stored there tells.
    void store_in_last_page(CrashTest::WrittenFile& file) const {
        file.write_buffered({0, 4 * unit_});
        file.fsync();
        const Mapped mapped{file, 8 * unit_};
        const auto grow = [&](Range range) {
            file.truncate(range.end);
            mapped.store(range);
            mapped.sync({4 * unit_, 8 * unit_});
            file.promise_all();
        };
        const auto odd = 3 * sector_size;
        grow({4 * unit_, 4 * unit_ + odd});
        grow({4 * unit_ + odd, 5 * unit_ + odd});
        grow({7 * unit_, 7 * unit_ + sector_size});
    }

    CrashTest test_;
    std::uint64_t unit_;
};

void run(Experiment& experiment) { Msync{experiment}.run(); }

}  // namespace

extern const Case stale_data_crash_msync;
const Case stale_data_crash_msync{
    .name = "stale_data.crash_msync",
    .summary = "cuts the power right after an msync of a part of a mapping, and looks for what was stored there",
    .method =
        "On an aged disk on which every sector says where it came from, blocks far apart are stored to through one "
        "mapping of a file of data, of a hole and of preallocated blocks, and each is synced alone with msync and "
        "MS_SYNC, twice over; then a file grows by parts of a block, and what is stored there is synced. For the "
        "moment after each msync, a disk is made with just what flushes had covered by then; it is mounted, so that "
        "the filesystem recovers, and what was promised must be there.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
