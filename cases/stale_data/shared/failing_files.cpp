#include "cases/stale_data/shared/failing_files.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>

#include "cases/stale_data/shared/judged_read.h"
#include "fixtures/base/failure.h"
#include "fixtures/filesystem/allocation_units.h"
#include "fixtures/pattern/sector.h"

namespace holdfast {

std::vector<FailingWrite> failing_writes(std::uint64_t block) {
    using Allocation = FileState::Allocation;
    const auto written = 4 * block;
    const Range preallocated{written, 16 * block};
    return {
        {"append", {.written = written}, 4},
        {"append into preallocated blocks",
         {.written = written, .allocated = Allocation{FALLOC_FL_KEEP_SIZE, preallocated}},
         4},
        {"write into a hole", {.written = written, .truncated = 16 * block}, 8},
        {"write into preallocated blocks", {.written = written, .allocated = Allocation{0, preallocated}}, 8},
        {"overwrite", {.written = written}, 1},
        {"overwrite of a shared block", {.written = written, .cloned = true}, 1},
    };
}

FailingFiles::FailingFiles(Experiment& experiment)
    : experiment_(experiment),
      disk_(experiment.held_disk()->served()),
      block_(direct_write_unit(experiment.filesystem())) {}

std::filesystem::path FailingFiles::path(std::uint32_t number) const {
    return experiment_.filesystem().root() / fmt::format("file-{}", number);
}

AlignedBuffer FailingFiles::data(const FileContent& content, Range range, std::uint32_t generation) {
    AlignedBuffer bytes{range.length()};
    fill_data(bytes.bytes(), {content.file(), generation}, range.begin);
    return bytes;
}

FileContent* FailingFiles::create(const FileState& state) {
    const auto number = static_cast<std::uint32_t>(contents_.size() + 1);
    const auto file = File::create(path(number), O_DIRECT);
    const int error = bring_into(file, state, {number, 1});
    if (error == EOPNOTSUPP) {
        std::filesystem::remove(file.path());
        return nullptr;
    }
    if (error != 0) throw SystemFailure("fallocate or FICLONE of " + file.path().string(), error);
    file.sync();
    auto& content = contents_.emplace_back(number);
    expect_state(content, state, 1);
    if (state.cloned) expect_state(clones_.try_emplace(number, number).first->second, state, 1);
    return &content;
}

void FailingFiles::note_answer(const std::string& what, std::int64_t result) {
    if (result == -EIO) return;
    note_wrong_answer(fmt::format("{} for a failed {}",
                                  result < 0 ? error_name(static_cast<int>(-result)) : std::to_string(result), what));
}

void FailingFiles::note_late_answer(const std::string& what, std::int64_t result) {
    if (result != 0) note_wrong_answer(fmt::format("{} for a {}", error_name(static_cast<int>(-result)), what));
}

void FailingFiles::judge(const FileContent& content) {
    judge_whole_file(path(content), content, findings_);
    if (const auto clone = clones_.find(content.file()); clone != clones_.end())
        judge_whole_file(clone_of(path(content)), clone->second, findings_);
}

void FailingFiles::judge_all() {
    for (const auto& content : contents_) judge(content);
}

void FailingFiles::grow_all() {
    for (auto& content : contents_) {
        const auto file = File::open(path(content), O_RDWR);
        const auto size = file.size() + 64 * KiB;
        file.truncate(size);
        content.resized(size);
        judge(content);
    }
}

void FailingFiles::observe() {
    observe_findings(experiment_, findings_);
    experiment_.observe("sizes", wrong_sizes_.empty() ? "right" : wrong_sizes_.front(), {{"all", wrong_sizes_}});
    experiment_.observe("answers", wrong_answers_.empty() ? "EIO" : wrong_answers_.front(), {{"all", wrong_answers_}});
}

}  // namespace holdfast
