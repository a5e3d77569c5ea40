// Writes from memory that is not there yet, or never will be, and reads into it.
// Contract: a call that cannot take all of its memory transfers what comes before, or gives EFAULT, and says so (write(2));
// the size, what lies behind what it returned, and what was there before are as if it had been asked for just that; it
// returns, also where its memory is the very place that it writes to. A direct write that fails may have written a part
// (write(2), BUGS), but must not show what was on the disk before.
#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cases/case.h"
#include "cases/stale_data/shared/judged_read.h"
#include "fixtures/base/failure.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/ageing.h"
#include "fixtures/io/aio.h"
#include "fixtures/io/uring.h"
#include "fixtures/pattern/sector.h"
#include "fixtures/probe/features.h"

namespace holdfast::cases {
namespace {

constexpr std::uint64_t blocks_written = 4;

enum class Call { pwrite, rwf_append, aio, ring };
struct Way {
    const char* name;
    Call call;
    int flags;
};
constexpr std::array ways{Way{"pwrite", Call::pwrite, 0},
                          Way{"write with O_APPEND", Call::pwrite, O_APPEND},
                          Way{"pwritev2 with RWF_APPEND", Call::rwf_append, 0},
                          Way{"direct pwrite", Call::pwrite, O_DIRECT},
                          Way{"direct write with O_APPEND", Call::pwrite, O_DIRECT | O_APPEND},
                          Way{"direct io_submit", Call::aio, O_DIRECT},
                          Way{"io_uring", Call::ring, 0},
                          Way{"direct io_uring", Call::ring, O_DIRECT}};

/// What the bytes lie in.
enum class Memory {
    /// A mapping of which no page has been touched, of pages that are there.
    untouched,
    /// A mapping of another file of the filesystem, of which no page is in memory.
    cold_file,
    /// Which begins inside a page, and of which a part cannot be read: so a block of the file gets a part of it.
    torn
};
constexpr std::array memories{std::pair{Memory::untouched, "untouched memory"},
                              std::pair{Memory::cold_file, "a file that is not in memory"},
                              std::pair{Memory::torn, "memory of which a part cannot be read"}};

/// Where it goes.
enum class Place { end, hole, data };
constexpr std::array places{std::pair{Place::end, "at the end"}, std::pair{Place::hole, "into a hole"},
                            std::pair{Place::data, "onto data"}};

// `length` bytes of a file in memory, of which no page has been touched.
class Pages {
 public:
    Pages(int file, std::uint64_t length)
        : address_(::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)), length_(length) {
        if (address_ == MAP_FAILED) throw SystemFailure("mapping memory to write from", errno);
    }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    ~Pages() { ::munmap(address_, length_); }

    [[nodiscard]] std::span<std::byte> bytes() const { return {static_cast<std::byte*>(address_), length_}; }
    void forbid(std::uint64_t begin, std::uint64_t length) const {
        checked(::mprotect(static_cast<std::byte*>(address_) + begin, length, PROT_NONE), "mprotect");
    }

 private:
    void* address_;
    std::uint64_t length_;
};

// Bytes, or a negative errno.
std::int64_t write(const File& file, Call call, std::uint64_t offset, std::span<const std::byte> bytes) {
    if (call == Call::aio) {
        AioContext context{1};
        std::array request{prepare_write(file, offset, bytes)};
        const int taken = context.try_submit(request);
        return taken == 1 ? context.wait().front().result : taken;
    }
    if (call == Call::ring) {
        Uring ring{1};
        ring.prepare_write(file.descriptor(), offset, bytes, 0, 0);
        return ring.run_one();
    }
    const iovec vector{const_cast<std::byte*>(bytes.data()), bytes.size()};
    const auto count = ::pwritev2(file.descriptor(), &vector, 1, static_cast<off_t>(offset),
                                  call == Call::rwf_append ? RWF_APPEND : 0);
    return count < 0 ? -errno : count;
}

class UserMemory {
 public:
    explicit UserMemory(Experiment& experiment)
        : experiment_(experiment),
          root_(experiment.filesystem().root()),
          unit_(direct_write_unit(experiment.filesystem())),
          length_(blocks_written * unit_) {
        age(root_, 4 * MiB, experiment.seed());
    }

    void run() {
        const bool has_ring = !find_missing_feature("io_uring");
        for (const auto& way : ways)
            for (const auto& [memory, memory_name] : memories)
                for (const auto& [place, place_name] : places) {
                    const bool appends = (way.flags & O_APPEND) != 0 || way.call == Call::rwf_append;
                    if ((appends && place != Place::end) || (way.call == Call::ring && !has_ring)) continue;
                    write_from(way, memory, place, fmt::format("{} from {} {}", way.name, memory_name, place_name));
                }
        experiment_.observe("answers", wrong_.empty() ? "right" : wrong_.front(), {{"all", wrong_}});
        wrong_.clear();
        meet_itself();
        experiment_.observe("own memory", wrong_.empty() ? "right" : wrong_.front(), {{"all", wrong_}});
        experiment_.filesystem().remount();
        for (const auto& content : contents_)
            judge_whole_file(path(content.file()), content, torn_.contains(content.file()) ? in_torn_ : findings_);
        observe_findings(experiment_, findings_, {{"files", contents_.size()}});
        observe_torn();
    }

 private:
    [[nodiscard]] std::filesystem::path path(std::uint32_t number) const {
        return root_ / fmt::format("file-{}", number);
    }

    // Eight blocks of data and as many of hole.
    FileContent& create() {
        const auto number = static_cast<std::uint32_t>(contents_.size() + 1);
        auto& content = contents_.emplace_back(number);
        const auto file = File::create(path(number));
        std::vector<std::byte> data(8 * unit_);
        fill_data(data, {number, 1}, 0);
        content.submit({0, data.size()}, 1);
        file.write_at(0, data);
        content.acknowledge({0, data.size()}, 1);
        file.truncate(16 * unit_);
        content.resized(16 * unit_);
        file.sync();
        // A part of a block that is not in memory must be read before it is written, or zeroed.
        file.drop_cache();
        return content;
    }

    [[nodiscard]] std::uint64_t begin_of(Place place) const {
        return (place == Place::end ? 16 : place == Place::hole ? 10 : 2) * unit_;
    }

    void write_from(const Way& way, Memory memory, Place place, const std::string& what) {
        auto& content = create();
        const Range range{begin_of(place), begin_of(place) + length_};
        std::vector<std::byte> data(length_);
        fill_data(data, {content.file(), 2}, range.begin);
        const auto source = memory == Memory::cold_file
                                ? cold_file(data)
                                : Descriptor{checked(::memfd_create("source", MFD_CLOEXEC), "memfd_create")};
        const auto skipped = memory == Memory::torn ? sector_size : 0;
        if (memory != Memory::cold_file)
            checked(::pwrite(source.get(), data.data(), data.size(), static_cast<off_t>(skipped)), "filling memory");
        const Pages memory_pages{source.get(), length_ + unit_};
        if (memory == Memory::torn) memory_pages.forbid(2 * unit_, length_ - unit_);
        const auto file = File::open(path(content.file()), O_RDWR | way.flags);
        const auto size = file.size();
        const auto result = write(file, way.call, range.begin, memory_pages.bytes().subspan(skipped, length_));
        settle(content, range, result);
        judge(what, {way, memory, range, result, size, file.size()});
        if (memory == Memory::torn && place == Place::end) {
            // What the call has left behind the end is seen.
            file.truncate(range.end);
            content.resized(range.end);
        }
        const bool torn = memory == Memory::torn && (way.flags & O_DIRECT) != 0;
        if (torn) torn_.insert(content.file());
        judge_whole_file(path(content.file()), content, torn ? in_torn_ : findings_);
    }

    [[nodiscard]] Descriptor cold_file(std::span<const std::byte> data) const {
        const auto path = root_ / "source";
        std::filesystem::remove(path);
        const auto file = File::create(path);
        file.write_at(0, data);
        file.sync();
        file.drop_cache();
        return Descriptor{checked(::open(path.c_str(), O_RDWR | O_CLOEXEC), "opening " + path.string())};
    }

    static void settle(FileContent& content, Range range, std::int64_t result) {
        const Range there{range.begin, range.begin + static_cast<std::uint64_t>(std::max<std::int64_t>(result, 0))};
        if (result > 0) {
            content.submit(there, 2);
            content.acknowledge(there, 2);
        }
        if (there.end == range.end) return;
        content.submit({there.end, range.end}, 2);
        content.give_up({there.end, range.end}, 2);
    }

    struct Answer {
        const Way& way;
        Memory memory;
        Range range;
        std::int64_t result;
        std::uint64_t size_before;
        std::uint64_t size_after;
    };
    void judge(const std::string& what, const Answer& answer) {
        const auto& [way, memory, range, result, before, after] = answer;
        const auto wanted = static_cast<std::int64_t>(length_);
        const bool right =
            memory == Memory::torn ? result == -EFAULT || (result > 0 && result < wanted) : result == wanted;
        if (!right)
            wrong_.push_back(fmt::format("{} gave {} of {} bytes", what,
                                         result < 0 ? error_name(static_cast<int>(-result)) : std::to_string(result),
                                         wanted));
        const auto least =
            std::max(before, result > 0 ? range.begin + static_cast<std::uint64_t>(result) : std::uint64_t{0});
        const bool may_be_more = result < 0 && (way.flags & O_DIRECT) != 0;
        if (after < least || after > (may_be_more ? std::max(least, range.end) : least))
            wrong_.push_back(fmt::format("the file has {} bytes in place of {} after {}", after, least, what));
    }

    void observe_torn() {
        const auto& stale = in_torn_.stale_sentences();
        const auto& lost = in_torn_.lost_sentences();
        const auto& unreadable = in_torn_.unreadable_sentences();
        experiment_.observe("direct from torn memory",
                            in_torn_.stale() > 0        ? "shows what was on the disk"
                            : in_torn_.lost() > 0       ? "loses what it has returned as written"
                            : in_torn_.unreadable() > 0 ? "cannot be read"
                                                        : "right",
                            {{"stale", stale}, {"lost", lost}, {"unreadable", unreadable}});
    }

    // A call whose memory is a mapping of the same file: it returns, and what it has moved is what was there.
    void meet_itself() {
        for (const bool cold : {false, true}) {
            map_into_itself(cold);
            for (const int flags : {0, O_DIRECT})
                for (const bool same_place : {false, true}) {
                    move_within(cold, flags, same_place);
                    if (same_place) read_into_itself(cold, flags);
                }
        }
    }

    struct Own {
        FileContent& content;
        File file;
        std::vector<std::byte> data;
    };
    // Sixteen blocks of data.
    Own own(bool cold, int flags) {
        auto& content = create();
        std::vector<std::byte> data(16 * unit_);
        fill_data(data, {content.file(), 2}, 0);
        content.submit({0, data.size()}, 2);
        const auto file = File::open(path(content.file()), O_RDWR);
        file.write_at(0, data);
        file.sync();
        content.acknowledge({0, data.size()}, 2);
        if (cold) file.drop_cache();
        return {content, File::open(path(content.file()), O_RDWR | flags), std::move(data)};
    }

    // To eight blocks further on, or onto itself.
    void move_within(bool cold, int flags, bool same_place) {
        auto [content, file, data] = own(cold, flags);
        const auto to = same_place ? 0 : 8 * unit_;
        std::int64_t result = 0;
        {
            const Pages memory{file.descriptor(), 16 * unit_};
            result = write(file, Call::pwrite, to, memory.bytes().first(length_));
        }
        const auto moved = result > 0 ? static_cast<std::size_t>(result) : 0;
        std::copy_n(data.begin(), moved, data.begin() + static_cast<std::ptrdiff_t>(to));
        judge_own(content, file, data, result, flags, "a write from a mapping of the file");
    }

    void read_into_itself(bool cold, int flags) {
        auto [content, file, data] = own(cold, flags);
        std::int64_t result = 0;
        {
            const Pages memory{file.descriptor(), 16 * unit_};
            result = ::pread(file.descriptor(), memory.bytes().data(), length_, 0);
            if (result < 0) result = -errno;
        }
        judge_own(content, file, data, result, flags, "a read into a mapping of the file");
    }

    // FIEMAP, whose header is in a page of the file, and whose extents go to the next one.
    void map_into_itself(bool cold) {
        auto [content, file, data] = own(cold, 0);
        {
            const Pages memory{file.descriptor(), 16 * unit_};
            auto* const map = reinterpret_cast<fiemap*>(memory.bytes().data() + 5 * unit_ - sizeof(fiemap));
            // Zeros but for these, also where data was.
            std::ranges::fill(std::as_writable_bytes(std::span{map, 1}), std::byte{0});
            map->fm_length = 16 * unit_;
            map->fm_extent_count = 4;
            const int result = ::ioctl(file.descriptor(), FS_IOC_FIEMAP, map);
            if (result != 0)
                wrong_.push_back(fmt::format("FIEMAP into a mapping of the file gave {}", error_name(errno)));
            else if (map->fm_mapped_extents == 0)
                wrong_.emplace_back("FIEMAP into a mapping of the file found no extents");
        }
        std::filesystem::remove(path(content.file()));
        contents_.pop_back();
    }

    // Direct I/O may not be possible to pages of the same file; but then it says so.
    void judge_own(FileContent& content, const File& file, const std::vector<std::byte>& data, std::int64_t result,
                   int flags, const char* call) {
        const auto what = fmt::format("{}{}", flags == 0 ? "" : "direct: ", call);
        if (result != static_cast<std::int64_t>(length_) && !(flags != 0 && (result == -EFAULT || result > 0)))
            wrong_.push_back(fmt::format("{} of {} bytes gave {}", what, length_, result));
        std::vector<std::byte> found(16 * unit_);
        const auto count = File::open(file.path(), O_RDONLY).read_at(0, found);
        if (count != found.size() || !std::ranges::equal(found, data))
            wrong_.push_back(fmt::format("{} has left other bytes in the file than it has moved", what));
        std::filesystem::remove(path(content.file()));
        contents_.pop_back();
    }

    Experiment& experiment_;
    std::filesystem::path root_;
    std::uint64_t unit_;
    std::uint64_t length_;
    std::deque<FileContent> contents_;
    Findings findings_;
    // The files that were written to directly from torn memory, and what is wrong with them.
    std::set<std::uint32_t> torn_;
    Findings in_torn_;
    std::vector<std::string> wrong_;
};

void run(Experiment& experiment) { UserMemory{experiment}.run(); }

}  // namespace

extern const Case stale_data_user_memory;
const Case stale_data_user_memory{
    .name = "stale_data.user_memory",
    .summary = "writes from memory that is not there yet, cannot be read, or is the file itself",
    .method =
        "On an aged disk, blocks are written at the end of a file, into a hole and onto data that is not in memory: "
        "from a mapping of which no page was touched, from a file that is not in memory, and from memory that begins "
        "inside a page and of which a part cannot be read; through the page cache and directly, with O_APPEND and "
        "RWF_APPEND, by io_submit and io_uring. The call must write all, or what comes before, or give EFAULT; the "
        "size, what it returned as written, what shows behind that when the file grows, and all else must be right for "
        "every reader, also after a remount. Then a file is written from a mapping of itself and read into one: that "
        "must end, and move just what was there; and FIEMAP puts its extents into one (commit b0ad381fa769).",
    .needs = {{"feature", "aio"}},
    .disk = DiskNeed::poisoned,
    .run = run,
};

}  // namespace holdfast::cases
