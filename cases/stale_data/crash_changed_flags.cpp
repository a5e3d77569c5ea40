// Writes through descriptors of which fcntl(2) has changed the flags, and cuts the power after each.
// Contract: a write does what the flags say by then: with O_APPEND it goes to the end of file, without to its place, through
// the page cache or not; F_SETFL leaves O_DSYNC as open(2) was given it, neither taking it away nor setting it, so that
// writes keep being promises (fcntl(2), F_SETFL).
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "cases/stale_data/shared/crash.h"
#include "fixtures/base/failure.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/aio.h"

namespace holdfast::cases {
namespace {

constexpr std::array changes{
    std::pair{O_APPEND, "O_APPEND"},       std::pair{0, "no flags"},
    std::pair{O_DIRECT, "O_DIRECT"},       std::pair{O_DIRECT | O_APPEND, "O_DIRECT and O_APPEND"},
    std::pair{O_APPEND, "O_APPEND alone"}, std::pair{0, "no flags again"}};

class ChangedFlags {
 public:
    explicit ChangedFlags(Experiment& experiment)
        : experiment_(experiment),
          test_(experiment),
          unit_(direct_write_unit(experiment.filesystem())),
          file_(test_.create()) {
        file_.write_direct({0, 8 * unit_});
        file_.fsync();
        size_ = 8 * unit_;
    }

    void run() {
        const auto descriptor = File::open(file_.path(), O_RDWR | O_DSYNC);
        for (const bool by_aio : {false, true})
            for (const auto& [flags, name] : changes) write(descriptor, flags, name, by_aio);
        const auto plain = File::open(file_.path(), O_RDWR);
        set(plain, O_SYNC | O_DSYNC);
        if (const int flags = get(plain); (flags & O_SYNC) != 0)
            wrong_.push_back(fmt::format("F_SETFL has set {:#o} of O_SYNC, which it cannot", flags & O_SYNC));
        experiment_.observe("flags", wrong_.empty() ? "right" : wrong_.front(), {{"all", wrong_}});
        test_.cut_power_at_promises();
    }

 private:
    static int get(const File& file) { return checked(::fcntl(file.descriptor(), F_GETFL), "F_GETFL"); }
    static void set(const File& file, int flags) { checked(::fcntl(file.descriptor(), F_SETFL, flags), "F_SETFL"); }

    // A request for io_submit is prepared before the flags change: those that count are those of its submission.
    void write(const File& descriptor, int flags, const char* name, bool by_aio) {
        const auto place = 2 * unit_;
        const auto begin = (flags & O_APPEND) != 0 ? size_ : place;
        const auto bytes = file_.begin_write({begin, begin + unit_});
        std::array request{prepare_write(descriptor, place, bytes.bytes())};
        set(descriptor, flags);
        const auto what = fmt::format("{} after F_SETFL to {}", by_aio ? "io_submit" : "pwrite", name);
        constexpr int kept = O_DSYNC | O_APPEND | O_DIRECT;
        if (const int found = get(descriptor) & kept; found != (flags | O_DSYNC))
            wrong_.push_back(fmt::format("F_GETFL tells of {:#o} before {}", found, what));
        std::int64_t count = 0;
        if (by_aio) {
            aio_.submit(request);
            count = aio_.wait().front().result;
        } else {
            count = ::pwrite(descriptor.descriptor(), bytes.bytes().data(), unit_, static_cast<off_t>(place));
            if (count < 0) count = -errno;
        }
        if (count != static_cast<std::int64_t>(unit_))
            throw Failure(fmt::format("{} of {} bytes gave {}", what, unit_, count));
        file_.promise_all();
        size_ = std::max(size_, begin + unit_);
        if (const auto size = descriptor.size(); size != size_)
            wrong_.push_back(fmt::format("the file has {} bytes in place of {} after {}", size, size_, what));
        std::vector<std::byte> found(unit_);
        if (descriptor_for_reading_.read_at(begin, found) != unit_ || !std::ranges::equal(found, bytes.bytes()))
            wrong_.push_back(fmt::format("{} has not written to byte {}", what, begin));
    }

    Experiment& experiment_;
    CrashTest test_;
    std::uint64_t unit_;
    CrashTest::WrittenFile& file_;
    File descriptor_for_reading_ = File::open(file_.path(), O_RDONLY);
    AioContext aio_{1};
    std::uint64_t size_ = 0;
    std::vector<std::string> wrong_;
};

void run(Experiment& experiment) { ChangedFlags{experiment}.run(); }

}  // namespace

extern const Case stale_data_crash_changed_flags;
const Case stale_data_crash_changed_flags{
    .name = "stale_data.crash_changed_flags",
    .summary = "changes the flags of a descriptor with fcntl, writes through it, and cuts the power after each write",
    .method =
        "On an aged disk on which every sector says where it came from, a descriptor of O_DSYNC gets and loses "
        "O_APPEND and O_DIRECT by fcntl with F_SETFL; after each change a block is written, by pwrite and by an "
        "io_submit that was prepared before the change. It must go to the end of file or to its place, as the flags "
        "say by then; F_GETFL must tell of them, and O_DSYNC stay. For the moment after each write, a disk is made "
        "with just what flushes had covered by then; it is mounted, so that the filesystem recovers, and all that was "
        "written must be there.",
    .needs = {{"feature", "aio"}},
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
