// Cuts the power around the moments in which a small journal frees its oldest part, to be written anew.
// Contract: what leaves the journal is on the disk by then, so that after a power cut at any moment, the filesystem can be
// mounted, is undamaged, and has all that a sync promised (found missing before: commit fd2cbd4dfa3d).
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "cases/stale_data/shared/crash.h"

namespace holdfast::cases {
namespace {

constexpr std::uint64_t files = 8;
constexpr std::uint64_t rounds = 40;
constexpr std::size_t most_moments = 6;

// The smallest journal that there can be. Only where a recipe asks for nothing but sizes: the log of XFS has 64 MiB at
// least, and other features have their own demands.
std::optional<Recipe> with_small_journal(const Recipe& recipe) {
    const bool is_ext = recipe.type == FilesystemType::ext3 || recipe.type == FilesystemType::ext4;
    if (!is_ext || recipe.mkfs.size() != 4 || recipe.mkfs.front() != "-b") return std::nullopt;
    auto small = recipe;
    small.mkfs = {"-b", "1024", "-N", "4096", "-J", "size=1"};
    return small;
}

bool begins_with(const LogEntry& entry, std::uint8_t kind) {
    // What every block of a journal begins with that is none of the filesystem's own: magic number and kind.
    const std::array head{std::byte{0xC0}, std::byte{0x3B}, std::byte{0x39}, std::byte{0x98},
                          std::byte{},     std::byte{},     std::byte{},     std::byte{kind}};
    return entry.kind == LogEntry::Kind::write && entry.content && entry.content->size() >= head.size() &&
           std::ranges::equal(std::span{*entry.content}.first(head.size()), head);
}
bool is_journal_superblock(const LogEntry& entry) { return begins_with(entry, 4); }
bool is_commit(const LogEntry& entry) { return begins_with(entry, 2); }

// How often commits have come to lie before the one before them.
std::uint64_t count_wraps(const WriteLog& log, std::uint64_t begin) {
    std::uint64_t wraps = 0;
    std::uint64_t last = 0;
    for (auto at = begin; at < log.size(); ++at) {
        if (!is_commit(log[at])) continue;
        if (log[at].offset < last) ++wraps;
        last = log[at].offset;
    }
    return wraps;
}

void work_on(CrashTest::WrittenFile& file, std::uint64_t round) {
    const auto end = file.size();
    switch (round % 4) {
        case 0:
            file.write_direct({end, end + 4 * KiB});
            break;
        case 1:
            file.write_buffered({end, end + 12 * KiB});
            break;
        case 2:
            file.truncate(end - 4 * KiB);
            break;
        default:
            // Behind a hole: an extent of its own.
            file.write_buffered({end + 64 * KiB, end + 68 * KiB});
    }
    file.fsync();
}

void wrap(Experiment& experiment) {
    // A mount in which next to nothing happens may leave the journal's superblock as it was (LWN 521022).
    for (const auto* name : {"first", "second"}) {
        File::create(experiment.filesystem().root() / name).sync();
        experiment.filesystem().remount();
    }
    CrashTest test{experiment};
    std::vector<CrashTest::WrittenFile*> written;
    for (std::uint64_t i = 0; i < files; ++i) written.push_back(&test.create());
    // One after the other: what was done to a file last then leaves the journal before the end.
    for (auto* file : written)
        for (std::uint64_t round = 0; round < rounds; ++round) work_on(*file, round);
    experiment.observe("wraps", count_wraps(test.disk().served().log(), test.begin()));
    test.cut_power_around(is_journal_superblock, most_moments);
}

void run(Experiment& experiment) {
    const auto small = with_small_journal(experiment.recipe());
    if (!small) experiment.skip("cannot be made with a journal that is small enough to wrap");
    DisposableFilesystem filesystem{*small, RunDirectory::in_memory(), DiskKind::held};
    Experiment within{filesystem, {.seed = experiment.seed()}, [&](const Observation& observation) {
                          experiment.observe(observation);
                      }};
    wrap(within);
}

}  // namespace

extern const Case stale_data_crash_journal_wrap;
const Case stale_data_crash_journal_wrap{
    .name = "stale_data.crash_journal_wrap",
    .summary = "cuts the power around the moments in which a small journal that wraps frees its oldest part",
    .method =
        "A filesystem of its own, with the recipe's mount options, blocks of 1 KiB and a journal of 1 MiB, is mounted "
        "twice for one small change each. Then files are appended to, cut short and written to behind holes, one "
        "after the other, each call with an fsync, so that the journal wraps several times. The power is cut before "
        "and after writes of the journal's superblock, which say that its oldest part is free: with what flushes had "
        "covered by then, with the last write besides, with all, and with a random part; and at other moments. What "
        "is left must mount, be undamaged, and have what was promised.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
