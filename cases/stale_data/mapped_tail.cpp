// What a mapping stores behind the end of file, in the file's last page, and the file then grows.
// Contract: those bytes are never part of the file (mmap(2): the remaining bytes are zeroed, and modifications to them are
// not written out); a page wholly behind the end cannot be touched before the file grows, and can be afterwards; what is
// stored below the new end is kept, also where the page was writable before (blocks smaller than pages).
#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cases/case.h"
#include "cases/stale_data/shared/judged_read.h"
#include "fixtures/base/failure.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/io/ageing.h"
#include "fixtures/io/file.h"
#include "fixtures/io/mapping.h"

namespace holdfast::cases {
namespace {

// No file of the case has this number: where its data shows, it came from behind an end of file.
constexpr std::uint32_t nobody = 999'999;

enum class Growth { truncate, allocate, buffered_append, buffered_gap, direct_gap, truncate_twice };
enum class Before { nothing, sync, sync_and_drop };

struct Story {
    std::uint64_t size;
    Growth growth;
    Before before;
};

constexpr std::array growths{std::pair{Growth::truncate, "ftruncate"},
                             std::pair{Growth::allocate, "fallocate"},
                             std::pair{Growth::buffered_append, "an append"},
                             std::pair{Growth::buffered_gap, "a write past the end"},
                             std::pair{Growth::direct_gap, "a direct write past the end"},
                             std::pair{Growth::truncate_twice, "ftruncate down and up"}};

std::vector<Story> all_stories(Growth growth) {
    // The first fits into an inode (ext4, inline_data).
    constexpr std::array sizes{std::uint64_t{100}, std::uint64_t{1'000}, std::uint64_t{4'096 + 512},
                               std::uint64_t{8'192 + 2'560}};
    std::vector<Story> stories;
    for (const auto size : sizes)
        for (const auto before : {Before::nothing, Before::sync, Before::sync_and_drop})
            stories.push_back({size, growth, before});
    return stories;
}

// Whether a byte at that address can be read: asked of the kernel, which answers EFAULT where the program would get SIGBUS.
bool can_be_touched(std::span<const std::byte> at) {
    std::array<int, 2> pipe{};
    checked(::pipe(pipe.data()), "pipe");
    const Descriptor read_end{pipe[0]};
    const Descriptor write_end{pipe[1]};
    if (::write(write_end.get(), at.data(), 1) == 1) return true;
    if (errno != EFAULT) throw SystemFailure("writing a mapped byte to a pipe", errno);
    return false;
}

class TailFile {
 public:
    TailFile(const std::filesystem::path& root, std::uint32_t number, std::uint64_t unit)
        : unit_(unit),
          page_(static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))),
          path_(root / fmt::format("file-{}", number)),
          content_(number) {}

    // False where the filesystem cannot grow a file that way.
    bool tell(const Story& story) {
        const auto file = File::create(path_);
        write(file, {0, story.size});
        file.sync();
        const auto mapped = 16 * unit_;
        const Mapping mapping{file, 0, mapped};
        const auto next_page = (story.size + page_ - 1) / page_ * page_;
        pollute(mapping, {story.size, next_page});
        if (can_be_touched(mapping.bytes().subspan(next_page)))
            faults_.push_back(fmt::format("byte {} of file {} can be read, which has {} bytes", next_page,
                                          content_.file(), story.size));
        if (story.before != Before::nothing) file.sync();
        if (story.before == Before::sync_and_drop) {
            // What was behind the end of file is gone from memory then, or it is not: either is right.
            checked(::madvise(mapping.bytes().data(), mapped, MADV_DONTNEED), "madvise");
            file.drop_cache();
        }
        if (!grow(file, story)) return false;
        const auto size = file.size();
        for (auto at = next_page; at < std::min(size, mapped); at += page_)
            if (!can_be_touched(mapping.bytes().subspan(at)))
                faults_.push_back(
                    fmt::format("byte {} of file {} cannot be read, which has {} bytes", at, content_.file(), size));
        store_below_new_end(mapping, story.size, size);
        return true;
    }

    void judge(Findings& findings) const { judge_whole_file(path_, content_, findings); }
    [[nodiscard]] const std::vector<std::string>& faults() const { return faults_; }
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
    static void pollute(const Mapping& mapping, Range range) {
        fill_data(mapping.bytes().subspan(range.begin, range.length()), {nobody, 1}, range.begin);
    }

    void write(const File& file, Range range) {
        AlignedBuffer data{range.length()};
        fill_data(data.bytes(), {content_.file(), ++generation_}, range.begin);
        content_.submit(range, generation_);
        file.write_at(range.begin, data.bytes());
        content_.acknowledge(range, generation_);
    }
    void truncate(const File& file, std::uint64_t size) {
        file.truncate(size);
        content_.resized(size);
    }

    bool grow(const File& file, const Story& story) {
        const auto far = 6 * unit_;
        switch (story.growth) {
            case Growth::truncate:
                truncate(file, far + 100);
                return true;
            case Growth::truncate_twice:
                truncate(file, story.size - std::min<std::uint64_t>(300, story.size / 2));
                truncate(file, far + 100);
                return true;
            case Growth::allocate: {
                const int error = file.fallocate(0, far, unit_ + 100);
                if (error != 0 && error != EOPNOTSUPP) throw SystemFailure("fallocate of " + path_.string(), error);
                if (error == 0) content_.resized(far + unit_ + 100);
                return error == 0;
            }
            case Growth::buffered_append:
                write(file, {story.size, story.size + 200});
                truncate(file, far);
                return true;
            case Growth::buffered_gap:
                write(file, {far + 100, far + 300});
                return true;
            case Growth::direct_gap:
                write(File::open(path_, O_RDWR | O_DIRECT), {far, far + unit_});
                return true;
        }
        return false;
    }

    // In the last page of before, which was writable all the time: whatever blocks the growth has added to it must now be
    // allocated. And in a page that is new.
    void store_below_new_end(const Mapping& mapping, std::uint64_t old_size, std::uint64_t size) {
        const auto last_sector = (old_size + page_ - 1) / page_ * page_ - sector_size;
        for (const auto at : {last_sector, 5 * unit_}) {
            if (at < old_size + 200 || at + sector_size > size) continue;
            const Range range{at, at + sector_size};
            content_.submit(range, ++generation_);
            fill_data(mapping.bytes().subspan(at, sector_size), {content_.file(), generation_}, at);
            content_.acknowledge(range, generation_);
        }
    }

    std::uint64_t unit_;
    std::uint64_t page_;
    std::filesystem::path path_;
    FileContent content_;
    std::uint32_t generation_ = 0;
    std::vector<std::string> faults_;
};

// What each way of growing has shown, and what is wrong with which bytes can be touched.
class MappedTails {
 public:
    explicit MappedTails(Experiment& experiment)
        : experiment_(experiment), unit_(direct_write_unit(experiment.filesystem())) {}

    void run() {
        std::map<Growth, Findings> found;
        Findings synced;
        for (const auto& [growth, name] : growths)
            for (const auto& story : all_stories(growth)) tell(story, found[growth], synced);
        experiment_.filesystem().remount();
        for (auto& [story, file] : files_) judge(story, file, found[story.growth], synced);
        for (const auto& [growth, name] : growths) observe(name, found[growth]);
        observe("any of them after a sync", synced);
        experiment_.observe("faults", faults_.empty() ? "right" : "wrong",
                            {{"all", faults_}, {"files", files_.size()}});
    }

 private:
    // A sync that writes the last page clears what is behind the end of file.
    static void judge(const Story& story, const TailFile& file, Findings& findings, Findings& synced) {
        file.judge(findings);
        if (story.before != Before::nothing) file.judge(synced);
    }

    void tell(const Story& story, Findings& findings, Findings& synced) {
        auto& [told, file] =
            files_.emplace_back(std::piecewise_construct, std::forward_as_tuple(story),
                                std::forward_as_tuple(experiment_.filesystem().root(),
                                                      static_cast<std::uint32_t>(files_.size() + 1), unit_));
        if (!file.tell(story)) {
            std::filesystem::remove(file.path());
            files_.pop_back();
            return;
        }
        judge(story, file, findings, synced);
        faults_.insert(faults_.end(), file.faults().begin(), file.faults().end());
    }

    void observe(const char* name, const Findings& findings) const {
        const auto* const value = findings.stale() > 0  ? "stale"
                                  : findings.lost() > 0 ? "lost"
                                  : findings.none()     ? "right"
                                                        : "unreadable";
        experiment_.observe(name, value,
                            {{"stale", findings.stale_sentences()},
                             {"lost", findings.lost_sentences()},
                             {"unreadable", findings.unreadable_sentences()}});
    }

    Experiment& experiment_;
    std::uint64_t unit_;
    std::deque<std::pair<Story, TailFile>> files_;
    std::vector<std::string> faults_;
};

void run(Experiment& experiment) {
    age(experiment.filesystem().root(), 4 * MiB, experiment.seed());
    MappedTails{experiment}.run();
}

}  // namespace

extern const Case stale_data_mapped_tail;
const Case stale_data_mapped_tail{
    .name = "stale_data.mapped_tail",
    .summary = "stores behind the end of file through a mapping, lets the file grow in every way, and reads",
    .method =
        "Stores data of nobody into the last page of a mapped file, behind the end of file, at different sizes; does "
        "nothing, or syncs, or also drops the page; then lets the file grow by ftruncate(2), fallocate(2), an append, "
        "a write or a direct write past the end. A page behind the end must give EFAULT to write(2) before, and be "
        "there afterwards. Then it stores through the mapping into what has been added to that page, and to another "
        "one. Every reader must see zeros and what was written, also after a remount. (Commits 90a8020278c1, "
        "9de4f22a60f7, 52aecaee1c26; fstests generic/030, generic/363.)",
    .needs = {},
    .disk = DiskNeed::poisoned,
    .run = run,
};

}  // namespace holdfast::cases
