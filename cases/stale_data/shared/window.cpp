#include "cases/stale_data/shared/window.h"

#include <algorithm>
#include <cerrno>
#include <list>
#include <optional>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>

#include "cases/stale_data/shared/crossing.h"
#include "cases/stale_data/shared/judged_read.h"
#include "cases/stale_data/shared/readers.h"
#include "fixtures/base/failure.h"
#include "fixtures/io/ageing.h"
#include "fixtures/io/clone.h"
#include "fixtures/io/file.h"
#include "fixtures/io/reader.h"
#include "fixtures/io/warm_up.h"

namespace holdfast {
namespace {

constexpr std::uint32_t generation_before = 1;

void skip_where_lacking(Experiment& experiment, const File& file, int mode) {
    const int error = file.fallocate(mode, 0, 64 * KiB);
    if (error == EOPNOTSUPP) experiment.skip(fmt::format("fallocate(2) with mode {:#x} is EOPNOTSUPP here", mode));
    if (error != 0) throw SystemFailure("fallocate of " + file.path().string(), error);
}

// Once the disk holds data, it is too late to find out.
void skip_where_lacking(Experiment& experiment, const Window& window) {
    const auto file = File::create(experiment.filesystem().root() / "probe");
    file.truncate(MiB);
    if (window.file.cloned && clone_all(file, File::create(experiment.filesystem().root() / "clone")) == EOPNOTSUPP)
        experiment.skip("files cannot be cloned: FICLONE is EOPNOTSUPP");
    const bool uncached = std::ranges::any_of(
        window.operations, [](const auto& operation) { return operation.kind == Operation::Kind::uncached_write; });
    if (uncached && !can_read_uncached(file)) experiment.skip("RWF_DONTCACHE is EOPNOTSUPP here");
    if (window.file.allocated) skip_where_lacking(experiment, file, window.file.allocated->mode);
    for (const auto& operation : window.operations)
        if (operation.kind == Operation::Kind::allocate || operation.kind == Operation::Kind::zero)
            skip_where_lacking(experiment, file, operation.mode);
}

Shrinking may_shrink(const Window& window) {
    const bool shrinks = std::ranges::any_of(
        window.operations, [](const auto& operation) { return operation.kind == Operation::Kind::truncate; });
    return shrinks ? Shrinking::yes : Shrinking::no;
}

Range all_of(const Window& window) {
    Range range{0, size_of(window.file)};
    for (const auto& operation : window.operations) range.end = std::max(range.end, operation.range.end);
    range.end += 16 * KiB;
    return range;
}

// A file of a window: brought into its state, crossed in one order, judged.
class WindowFile {
 public:
    WindowFile(const std::filesystem::path& root, const Window& window, std::uint32_t number)
        : window_(window), path_(root / fmt::format("file-{}", number)), content_(number) {
        const auto file = File::create(path_, O_DIRECT);
        if (const int error = bring_into(file, window.file, {number, generation_before}); error != 0)
            throw SystemFailure("fallocate or FICLONE of " + path_.string(), error);
        expect_state(content_, window.file, generation_before);
        if (window.file.cloned) expect_state(clone_.emplace(number), window.file, generation_before);
        file.sync_filesystem();
    }

    void cross(HeldDisk& disk, Order order, Findings& findings) {
        // The calls of a crossing, and after them the readers, end when nothing is held any more.
        Readers readers{path_, content_, all_of(window_), may_shrink(window_)};
        std::optional<Readers> others;
        if (clone_) others.emplace(clone_of(path_), *clone_, all_of(window_), Shrinking::no);
        const auto look = [&] {
            readers.look();
            if (others) others->look();
        };
        Crossing{disk, path_, content_, window_.operations}.cross(order, look, findings);
        readers.finish(findings);
        if (others) others->finish(findings);
        looks_ = readers.looks() + (others ? others->looks() : 0);
        looks_in_window_ = readers.looks_in_window();
        judge_size(findings);
        judge(findings);
    }
    void judge(Findings& findings) const {
        judge_whole_file(path_, content_, findings);
        if (clone_) judge_whole_file(clone_of(path_), *clone_, findings);
    }

    [[nodiscard]] std::uint64_t looks() const { return looks_; }
    [[nodiscard]] std::uint64_t looks_in_window() const { return looks_in_window_; }

 private:
    void judge_size(Findings& findings) {
        const auto possible = possible_sizes(size_of(window_.file), window_.operations);
        const auto size = File::open(path_, O_RDONLY).size();
        if (!possible.contains(size))
            findings.add_lost(fmt::format("file {} has {} bytes in the end, where {} are possible", content_.file(),
                                          size, fmt::join(possible, " or ")));
        content_.settle(size);
    }

    const Window& window_;
    std::filesystem::path path_;
    FileContent content_;
    std::optional<FileContent> clone_;
    std::uint64_t looks_ = 0;
    std::uint64_t looks_in_window_ = 0;
};

}  // namespace

void look_through(Experiment& experiment, const Window& window) {
    auto& filesystem = experiment.filesystem();
    age(filesystem.root(), 4 * MiB, experiment.seed());
    warm_up(filesystem.root());
    skip_where_lacking(experiment, window);

    Findings findings;
    std::uint64_t looks = 0;
    std::uint64_t looks_in_window = 0;
    std::list<WindowFile> files;
    for (const auto order : {Order::as_submitted, Order::reversed, Order::middle_first}) {
        auto& file = files.emplace_back(filesystem.root(), window, static_cast<std::uint32_t>(files.size() + 1));
        file.cross(*experiment.held_disk(), order, findings);
        looks += file.looks();
        looks_in_window += file.looks_in_window();
    }
    filesystem.remount();
    for (const auto& file : files) file.judge(findings);
    observe_findings(experiment, findings, {{"looks", looks}, {"looks_in_window", looks_in_window}});
}

}  // namespace holdfast
