// Makes ranges readable in every way fallocate(2) knows, on a disk full of poison, and reads them.
// Contract: they read as zeros, before and after a remount, and what lies beside them keeps its data.
#include <deque>

#include <fcntl.h>
#include <fmt/format.h>

#include "cases/case.h"
#include "cases/fallocate/shared/mode.h"
#include "cases/stale_data/shared/judged_read.h"
#include "cases/stale_data/shared/tracked_file.h"
#include "fixtures/io/ageing.h"

namespace holdfast::cases {
namespace {

// Each step brings a new file into a state of its own, and returns false where the filesystem lacks the mode it is about.
// Odd offsets are meant: they lie inside blocks, pages and sectors.
struct Step {
    const char* name;
    bool (*run)(TrackedFile&);
};

constexpr int punch_hole = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;

bool allocate_across_end(TrackedFile& file) {
    file.write({0, 10'000});
    return file.allocate(0, {5'000, MiB + 300});
}

bool allocate_and_write_parts(TrackedFile& file) {
    if (!file.allocate(0, {0, 256 * KiB})) return false;
    file.write_direct({512, 1024});
    file.write_direct({13'312, 14'336});
    file.write_direct({64 * KiB, 68 * KiB});
    file.write({100'100, 100'200});
    file.write({150'000, 170'001});
    file.sync();
    file.write_direct({200'192, 200'704});
    return true;
}

bool allocate_then_cut_and_grow(TrackedFile& file) {
    if (!file.allocate(0, {0, 200'000})) return false;
    file.write({0, 30'000});
    file.truncate(20'001);
    file.truncate(90'000);
    return file.allocate(0, {50'000, 120'000});
}

bool keep_size_then_grow(TrackedFile& file) {
    file.write({0, 1'000});
    if (!file.allocate(FALLOC_FL_KEEP_SIZE, {0, MiB})) return false;
    file.truncate(300'001);
    file.truncate(2 * MiB);
    return true;
}

bool keep_size_then_append_with_gaps(TrackedFile& file) {
    if (!file.allocate(FALLOC_FL_KEEP_SIZE, {0, 512 * KiB})) return false;
    file.write_direct({0, 512});
    file.write_direct({8'704, 9'728});
    file.write({20'000, 20'100});
    file.write_direct({40'960, 45'056});
    file.write({600'000, 600'001});
    return true;
}

bool zero_range(TrackedFile& file) {
    file.write({0, 300'000});
    file.sync();
    if (!file.zero(FALLOC_FL_ZERO_RANGE, {1'000, 150'001})) return false;
    return file.zero(FALLOC_FL_ZERO_RANGE, {200'100, 200'200}) && file.zero(FALLOC_FL_ZERO_RANGE, {290'000, 400'000});
}

bool zero_range_keep_size_then_grow(TrackedFile& file) {
    file.write({0, 100'000});
    if (!file.zero(FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, {90'001, 300'000})) return false;
    file.truncate(200'000);
    return true;
}

bool write_zeroes(TrackedFile& file) {
    file.write({0, 300'000});
    file.sync();
    return file.zero(fallocate::write_zeroes, {1'000, 150'001}) &&
           file.zero(fallocate::write_zeroes, {290'000, 400'000});
}

bool punch(TrackedFile& file) {
    file.write({0, 300'000});
    file.sync();
    if (!file.zero(punch_hole, {1'000, 150'001})) return false;
    if (!file.zero(punch_hole, {200'100, 200'900}) || !file.zero(punch_hole, {290'000, 400'000})) return false;
    file.truncate(350'000);
    return true;
}

bool punch_dirty_pages(TrackedFile& file) {
    file.write({0, 100'000});
    if (!file.zero(punch_hole, {10'001, 50'000})) return false;
    file.write_direct({20'480, 20'992});
    return true;
}

bool punch_then_allocate(TrackedFile& file) {
    file.write({0, 200'000});
    file.sync();
    return file.zero(punch_hole, {30'000, 130'000}) && file.allocate(0, {20'000, 140'000});
}

bool insert_range(TrackedFile& file) {
    file.write({0, MiB});
    file.write_for_later({MiB, 2 * MiB + 5'000}, MiB);
    file.sync();
    return file.shift_tail(FALLOC_FL_INSERT_RANGE, {MiB, 2 * MiB});
}

bool collapse_range(TrackedFile& file) {
    file.write({0, MiB});
    file.write_for_later({MiB, 2 * MiB}, 0);
    file.write_for_later({2 * MiB, 3 * MiB + 5'000}, -static_cast<std::int64_t>(MiB));
    file.sync();
    return file.shift_tail(FALLOC_FL_COLLAPSE_RANGE, {MiB, 2 * MiB});
}

bool unshare_range(TrackedFile& file) {
    file.write({0, 10'000});
    return file.allocate(FALLOC_FL_UNSHARE_RANGE, {5'000, 200'001});
}

// Without fallocate: what a block has behind the end of file must not come to light when the file grows.
bool cut_and_grow(TrackedFile& file) {
    file.write({0, 50'000});
    file.sync();
    file.truncate(20'001);
    file.truncate(60'000);
    file.truncate(15'000);
    file.write({30'000, 30'100});
    file.truncate(10'001);
    file.write_direct({40'960, 41'472});
    return true;
}

bool sector_append_then_grow(TrackedFile& file) {
    file.write_direct({0, 512});
    file.truncate(100'000);
    file.write_direct({100'352, 100'864});
    file.truncate(200'000);
    return true;
}

constexpr Step steps[] = {
    {"allocate across the end", allocate_across_end},
    {"allocate and write parts", allocate_and_write_parts},
    {"allocate, cut and grow", allocate_then_cut_and_grow},
    {"KEEP_SIZE, then grow", keep_size_then_grow},
    {"KEEP_SIZE, then append with gaps", keep_size_then_append_with_gaps},
    {"ZERO_RANGE", zero_range},
    {"ZERO_RANGE with KEEP_SIZE, then grow", zero_range_keep_size_then_grow},
    {"WRITE_ZEROES", write_zeroes},
    {"PUNCH_HOLE", punch},
    {"PUNCH_HOLE on dirty pages", punch_dirty_pages},
    {"PUNCH_HOLE, then allocate", punch_then_allocate},
    {"INSERT_RANGE", insert_range},
    {"COLLAPSE_RANGE", collapse_range},
    {"UNSHARE_RANGE", unshare_range},
    {"cut and grow", cut_and_grow},
    {"append a sector, then grow", sector_append_then_grow},
};

void run(Experiment& experiment) {
    auto& filesystem = experiment.filesystem();
    age(filesystem.root(), 24 * MiB, experiment.seed());

    Findings findings;
    std::deque<TrackedFile> files;
    auto tried = nlohmann::json::array();
    auto not_supported = nlohmann::json::array();
    for (const auto& step : steps) {
        const auto number = static_cast<std::uint32_t>(files.size() + 1);
        auto& file = files.emplace_back(filesystem.root() / fmt::format("file-{}", number), number);
        if (step.run(file)) {
            tried.push_back(fmt::format("{}: file {}", step.name, number));
            judge_whole_file(file.path(), file.content(), findings);
        } else {
            not_supported.push_back(step.name);
            std::filesystem::remove(file.path());
            files.pop_back();
        }
    }

    for (auto& file : files) file.close();
    filesystem.remount();
    for (const auto& file : files) judge_whole_file(file.path(), file.content(), findings);
    observe_findings(experiment, findings, {{"modes_tried", tried}, {"not_supported", not_supported}});
}

}  // namespace

extern const Case stale_data_fallocate_reads_zero;
const Case stale_data_fallocate_reads_zero{
    .name = "stale_data.fallocate_reads_zero",
    .summary = "reads what fallocate, punching, cutting and growing leave behind, on a disk where stale data shows",
    .method =
        "On a poisoned and aged disk, brings one file after the other into a state of its own: allocated, partly "
        "written, kept in size and grown later, zeroed, punched, shifted, cut and grown, always with edges inside "
        "blocks. Direct, buffered and mapped readers then look at all of each file, and once more after a remount. "
        "What was never written or was taken away must read as zeros; what lies beside it must keep its data. Modes "
        "that the filesystem does not have are left out.",
    .needs = {},
    .disk = DiskNeed::poisoned,
    .run = run,
};

}  // namespace holdfast::cases
