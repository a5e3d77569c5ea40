// Reads that the disk fails: for readers, and for calls that have to read before they write.
// Contract: the caller is told EIO (read(2), write(2), fallocate(2)), what was in the file stays there, and once the disk
// reads again, everything works; nobody sees zeros or anything else in place of what could not be read.
#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>
#include <unistd.h>

#include "cases/case.h"
#include "cases/stale_data/shared/failing_files.h"
#include "fixtures/base/failure.h"
#include "fixtures/io/ageing.h"
#include "fixtures/io/reader.h"
#include "fixtures/io/warm_up.h"
#include "fixtures/probe/extents.h"
#include "fixtures/probe/kernel_version.h"

namespace holdfast::cases {
namespace {

class FailedRead {
 public:
    explicit FailedRead(Experiment& experiment) : experiment_(experiment), files_(experiment) {}

    void run() {
        const auto block = files_.block();
        for (const auto reading : possible_readings(experiment_.filesystem().root())) {
            if (reading == Reading::mapped && !populating_ends()) continue;
            fail(std::string(describe(reading)), [&](const std::filesystem::path& path) {
                std::vector<std::byte> bytes(block);
                return error_of([&] { (void)Reader{path, reading}.read(block, bytes); });
            });
        }
        fail("copy_file_range", [&](const std::filesystem::path& path) { return copy(path); });
        fail_changes();
        experiment_.filesystem().remount();
        files_.judge_all();
        files_.observe();
    }

 private:
    using Call = std::function<int(const std::filesystem::path& path)>;

    static int error_of(const auto& call) {
        try {
            call();
            return 0;
        } catch (const SystemFailure& failure) {
            return failure.error();
        }
    }

    // No page of the file is in memory, and the disk fails what is read of its data.
    void fail(const std::string& what, const Call& call) {
        auto* const content = files_.create({.written = 8 * files_.block()});
        fail_on(*content, what, call);
        files_.judge(*content);
    }

    void fail_on(const FileContent& content, const std::string& what, const Call& call) {
        const auto path = files_.path(content);
        {
            const auto file = File::open(path, O_RDWR);
            file.sync();
            file.drop_cache();
        }
        const auto rule =
            files_.disk().add_rule({.filter = RequestFilter::data_reads(), .action = RuleAction::fail, .error = EIO});
        const int error = call(path);
        files_.disk().remove_rule(rule);
        if (error != EIO)
            files_.note_wrong_answer(fmt::format("{} for {} of what the disk does not read",
                                                 error == 0 ? "success" : error_name(error), what));
    }

    // Before 6.9, MADV_POPULATE_READ of a page that cannot be read goes on for ever (commit 631426ba1d45, "mm/madvise: make
    // MADV_POPULATE_(READ|WRITE) handle VM_FAULT_RETRY properly"; observed on 6.1).
    static bool populating_ends() { return KernelVersion::running() >= KernelVersion{6, 9, 0}; }

    int copy(const std::filesystem::path& path) const {
        const auto source = File::open(path, O_RDONLY);
        const auto target = File::create(path.string() + ".copy");
        const auto count =
            ::copy_file_range(source.descriptor(), nullptr, target.descriptor(), nullptr, 2 * files_.block(), 0);
        const int error = count < 0 ? errno : 0;
        const auto extents = read_extents(target.descriptor(), Writeback::never);
        std::filesystem::remove(target.path());
        // Where the blocks are shared, nothing has to be read.
        return error == 0 && std::ranges::any_of(extents, &Extent::shared) ? EIO : error;
    }

    // What touches a part of a block has to read the rest, and does nothing where it cannot.
    void fail_changes() {
        const auto block = files_.block();
        const Range part{block + 100, block + 200};
        struct Change {
            const char* name;
            std::function<int(const File&)> make;
        };
        const auto allocate = [part](int mode) {
            return [part, mode](const File& file) { return file.fallocate(mode, part.begin, part.length()); };
        };
        const std::array changes{
            Change{"a write of a part",
                   [part](const File& file) {
                       const std::vector<std::byte> bytes(part.length());
                       return error_of([&] { file.write_at(part.begin, bytes); });
                   }},
            Change{"PUNCH_HOLE of a part", allocate(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE)},
            Change{"ZERO_RANGE of a part", allocate(FALLOC_FL_ZERO_RANGE)},
        };
        for (const auto& change : changes)
            fail(change.name, [&](const std::filesystem::path& path) {
                const int error = change.make(File::open(path, O_RDWR));
                return error == EOPNOTSUPP ? EIO : error;  // nothing is asked of it
            });
    }

    Experiment& experiment_;
    FailingFiles files_;
};

void run(Experiment& experiment) {
    age(experiment.filesystem().root(), 4 * MiB, experiment.seed());
    warm_up(experiment.filesystem().root());
    FailedRead{experiment}.run();
}

}  // namespace

extern const Case stale_data_failed_read;
const Case stale_data_failed_read{
    .name = "stale_data.failed_read",
    .summary = "lets the disk fail reads and looks at what readers are told, and at what is in the file afterwards",
    .method =
        "On an aged disk on which every sector says where it came from, the disk fails reads of data with EIO: of "
        "readers through the page cache, with O_DIRECT, through a pipe, io_uring, a mapping and copy_file_range, and "
        "of a write, PUNCH_HOLE and ZERO_RANGE that touch a part of a block. Each must be told, and afterwards, when "
        "the disk reads again, and after a remount, every reader must find what was written before.",
    .disk = DiskNeed::held,
    .fails_io = true,
    .run = run,
};

}  // namespace holdfast::cases
