// Files of which the disk fails a write, and what then must be.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cases/experiment.h"
#include "fixtures/base/aligned_buffer.h"
#include "fixtures/io/file.h"
#include "fixtures/io/file_state.h"
#include "fixtures/pattern/oracle.h"

namespace holdfast {

/// A write of one block that is to fail.
struct FailingWrite {
    /// "append into preallocated blocks".
    const char* name;
    FileState file;
    /// The block that is written to.
    std::uint64_t block;
};

/// At end of file, into preallocated blocks behind and below it, into a hole, onto data, also of a block that is
/// shared with a clone; `block` in bytes.
[[nodiscard]] std::vector<FailingWrite> failing_writes(std::uint64_t block);

class FailingFiles {
 public:
    explicit FailingFiles(Experiment& experiment);

    [[nodiscard]] ServedDisk& disk() { return disk_; }
    /// The unit of direct writes, in bytes.
    [[nodiscard]] std::uint64_t block() const { return block_; }
    [[nodiscard]] std::filesystem::path path(const FileContent& content) const { return path(content.file()); }

    /// A new file in that state, synced. Null where the filesystem has no such state. Its data is of generation 1.
    [[nodiscard]] FileContent* create(const FileState& state);
    [[nodiscard]] static AlignedBuffer data(const FileContent& content, Range range, std::uint32_t generation);

    void note_answer(const std::string& what, std::int64_t result);
    /// Of who was told before, or came after all had been told: 0.
    void note_late_answer(const std::string& what, std::int64_t result);
    void note_wrong_answer(std::string what) { wrong_answers_.push_back(std::move(what)); }
    void note_wrong_size(std::string what) { wrong_sizes_.push_back(std::move(what)); }

    /// Reads one file, and its clone, or all of them.
    void judge(const FileContent& content);
    void judge_all();
    /// What a failed write has left behind the end of file must not show when the file grows.
    void grow_all();
    /// `stale`, `lost`, `unreadable`, `sizes` and `answers`.
    void observe();

 private:
    [[nodiscard]] std::filesystem::path path(std::uint32_t number) const;

    Experiment& experiment_;
    ServedDisk& disk_;
    std::uint64_t block_;
    std::deque<FileContent> contents_;
    /// By the number of the file that was cloned.
    std::map<std::uint32_t, FileContent> clones_;
    Findings findings_;
    std::vector<std::string> wrong_sizes_;
    std::vector<std::string> wrong_answers_;
};

}  // namespace holdfast
