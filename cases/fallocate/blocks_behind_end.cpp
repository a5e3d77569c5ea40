// Preallocates blocks behind the end of a file, moves the end of file and punches, and counts what is left of them.
// Contract: ftruncate(2) to the size that the file has, or to a smaller one, takes them away, to a larger one leaves them;
// a punched hole has no blocks wherever it is (fallocate(2)); none of them ever shows what the disk held.
#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "cases/fallocate/shared/scene.h"
#include "fixtures/base/bytes.h"
#include "fixtures/base/failure.h"
#include "fixtures/io/ageing.h"
#include "fixtures/pattern/sector.h"
#include "fixtures/probe/extents.h"

namespace holdfast::cases {

using namespace holdfast::fallocate;

namespace {

// In allocation steps: the data, and what is preallocated from the start of the file on.
constexpr std::int64_t data_end = 4;
constexpr std::int64_t allocated_end = 12;

struct Call {
    enum class Kind { truncate, open_truncated, punch, zero, allocate };
    Kind kind;
    Place from{};
    Place to{};
};

Call truncate(Place size) { return {Call::Kind::truncate, {}, size}; }

struct Sequence {
    const char* name;
    /// The end of the data, and of the file.
    Place size;
    std::vector<Call> calls;
    /// Behind which blocks are counted, and how many steps must be left there.
    std::int64_t behind;
    std::int64_t left;
};

const std::vector<Sequence>& sequences() {
    using Kind = Call::Kind;
    static const std::vector<Sequence> all{
        {"the same size", {data_end}, {truncate({data_end})}, data_end, 0},
        {"the same size, inside a block", {data_end, -100}, {truncate({data_end, -100})}, data_end, 0},
        {"the same size of an empty file", {0}, {truncate({0})}, 0, 0},
        {"an empty file opened with O_TRUNC", {0}, {{Kind::open_truncated}}, 0, 0},
        {"a file opened with O_TRUNC", {data_end}, {{Kind::open_truncated}}, 0, 0},
        {"a size inside the blocks", {data_end}, {truncate({6, 512})}, data_end, 8},
        {"a size behind the blocks", {data_end}, {truncate({20})}, data_end, 8},
        {"a smaller size", {data_end}, {truncate({2})}, 2, 0},
        {"a smaller size, inside a block", {data_end}, {truncate({2, 1000})}, 3, 0},
        {"up and down again", {data_end}, {truncate({20}), truncate({data_end})}, data_end, 0},
        {"down and up again", {data_end}, {truncate({2}), truncate({allocated_end})}, 2, 0},
        {"the same size, and preallocated anew",
         {data_end},
         {truncate({data_end}), {Kind::allocate, {6}, {8}}},
         data_end,
         2},
        {"ZERO_RANGE behind the end", {data_end}, {{Kind::zero, {6}, {8}}}, data_end, 8},
        {"PUNCH_HOLE of all behind the end", {data_end}, {{Kind::punch, {data_end}, {allocated_end}}}, data_end, 0},
        {"PUNCH_HOLE behind the end", {data_end}, {{Kind::punch, {6}, {8}}}, data_end, 6},
        {"PUNCH_HOLE across the end", {data_end}, {{Kind::punch, {2}, {8}}}, data_end, 4}};
    return all;
}

class PreallocatedFile {
 public:
    PreallocatedFile(const std::filesystem::path& root, const Sequence& sequence, std::uint32_t number,
                     const AllocationUnits& units)
        : sequence_(&sequence), step_(units.step), path_(root / sequence.name), model_(units.block, units.step) {
        const auto file = File::create(path_);
        if (const int error = file.fallocate(FALLOC_FL_KEEP_SIZE, 0, bytes({allocated_end})); error != 0)
            throw SystemFailure("preallocating " + path_.string(), error);
        std::vector<std::byte> data(bytes(sequence.size));
        fill_data(data, {number, 1}, 0);
        file.write_at(0, data);
        file.sync();
        model_.write(0, data);
    }

    /// Returns the errno of the first call that fails.
    [[nodiscard]] int carry_out() {
        const auto file = File::open(path_, O_RDWR);
        for (const Call& call : sequence_->calls)
            if (const int error = carry_out(call, file); error != 0) return error;
        return 0;
    }

    /// What is wrong with size or content; else whether the blocks are as they should be, or how many bytes are left.
    [[nodiscard]] std::string look(nlohmann::json& evidence) const {
        const auto file = File::open(path_, O_RDONLY);
        evidence = describe_file(file);
        if (auto difference = find_content_difference(model_, file)) {
            evidence["detail"] = difference->detail;
            return difference->what;
        }
        const auto left = bytes_behind(file);
        if (left == static_cast<std::uint64_t>(sequence_->left) * step_) return "as they should be";
        return fmt::format("{} steps in place of {}", left / step_, sequence_->left);
    }

    /// Grown over all that was there, the file shows nothing of what the blocks held.
    [[nodiscard]] std::optional<Difference> look_behind_end() {
        const auto file = File::open(path_, O_RDWR);
        const auto size = std::max(model_.size(), 24 * step_);
        file.truncate(size);
        model_.grow(size);
        return find_content_difference(model_, file);
    }

    [[nodiscard]] const Sequence& sequence() const { return *sequence_; }

 private:
    [[nodiscard]] std::uint64_t bytes(Place place) const {
        return static_cast<std::uint64_t>(place.steps * static_cast<std::int64_t>(step_) + place.bytes);
    }

    [[nodiscard]] std::uint64_t bytes_behind(const File& file) const {
        const auto extents = read_extents(file.descriptor());
        const auto begin = static_cast<std::uint64_t>(sequence_->behind) * step_;
        const auto end = extents.empty() ? begin : std::max(begin, extents.back().end());
        return bytes_in_state(extents, ExtentState::unwritten, begin, end) +
               bytes_in_state(extents, ExtentState::written, begin, end);
    }

    [[nodiscard]] int carry_out(const Call& call, const File& file) {
        using Kind = Call::Kind;
        const auto begin = bytes(call.from);
        const auto end = bytes(call.to);
        switch (call.kind) {
            case Kind::truncate:
                file.truncate(end);
                model_.truncate(end);
                return 0;
            case Kind::open_truncated:
                (void)File::open(path_, O_WRONLY | O_TRUNC);
                model_.truncate(0);
                return 0;
            case Kind::punch:
                model_.punch(begin, end - begin);
                return file.fallocate(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, begin, end - begin);
            case Kind::zero:
                return file.fallocate(FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, begin, end - begin);
            case Kind::allocate:
                return file.fallocate(FALLOC_FL_KEEP_SIZE, begin, end - begin);
        }
        return 0;
    }

    const Sequence* sequence_;
    std::uint64_t step_;
    std::filesystem::path path_;
    FileModel model_;
};

void run(Experiment& experiment) {
    auto& filesystem = experiment.filesystem();
    const auto& root = filesystem.root();
    const auto units = allocation_units(filesystem);
    age(root, 4 * MiB, experiment.seed());
    if (File::create(root / "probe").fallocate(FALLOC_FL_KEEP_SIZE, 0, units.step) == EOPNOTSUPP)
        experiment.skip("fallocate(2) with FALLOC_FL_KEEP_SIZE is EOPNOTSUPP here");

    std::deque<PreallocatedFile> files;
    std::vector<std::string> answers;
    for (const auto& sequence : sequences()) {
        auto& file = files.emplace_back(root, sequence, static_cast<std::uint32_t>(files.size() + 1), units);
        const int error = file.carry_out();
        nlohmann::json evidence;
        auto answer = error == 0 ? file.look(evidence) : error_name(error);
        experiment.observe(sequence.name, answer, evidence);
        answers.push_back(std::move(answer));
    }
    filesystem.remount();
    std::vector<std::string> changed;
    std::vector<std::string> wrong;
    for (std::size_t i = 0; i < files.size(); ++i) {
        auto& file = files[i];
        nlohmann::json evidence;
        if (const auto answer = file.look(evidence); answer != answers[i])
            changed.push_back(fmt::format("{}: {} ({})", file.sequence().name, answer, evidence.dump()));
        if (const auto difference = file.look_behind_end())
            wrong.push_back(fmt::format("{}: {} ({})", file.sequence().name, difference->what, difference->detail));
    }
    experiment.observe("after a remount", changed.empty() ? "as before" : "changed", {{"all", changed}});
    experiment.observe("behind the end of file", wrong.empty() ? "zeros" : "wrong", {{"all", wrong}});
}

}  // namespace

extern const Case fallocate_blocks_behind_end;
const Case fallocate_blocks_behind_end{
    .name = "fallocate.blocks_behind_end",
    .summary = "preallocates behind the end of a file, moves the end and punches, and counts the blocks that are left",
    .method =
        "On an aged disk, files of four steps of data have blocks preallocated for twelve. ftruncate(2) gives them "
        "the size they have, smaller and larger ones, there and back, inside blocks too; they are opened with "
        "O_TRUNC, and holes are punched behind and across their end. FIEMAP then tells what is left of the blocks "
        "behind the end: none where the size was set to what it was or to less, all where it was set to more, none "
        "where a hole was punched. Once more after a remount; and then the files grow over all of it, and must show "
        "zeros.",
    .disk = DiskNeed::poisoned,
    .run = run,
};

}  // namespace holdfast::cases
