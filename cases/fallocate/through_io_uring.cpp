// Calls fallocate and ftruncate through io_uring.
// Contract: they do what fallocate(2) and ftruncate(2) do, and give the same errno (io_uring_enter(2),
// IORING_OP_FALLOCATE); the limits of the process hold for them.
#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "cases/fallocate/shared/file_size_limit.h"
#include "cases/fallocate/shared/mode.h"
#include "cases/fallocate/shared/scene.h"
#include "fixtures/base/failure.h"
#include "fixtures/io/uring.h"

namespace holdfast::cases {

using namespace holdfast::fallocate;

namespace {

// Data, holes and unwritten blocks, of which a call takes some of each.
constexpr std::array scenes{
    Scene{"whole steps", "DDDDHHUUDD", {2, 0}, {5, 0}},
    Scene{"a part of a step", "DDDDHHUUDD", {2, 100}, {5, 200}},
    Scene{"past the end", "DDDDHHUUDD", {8, 0}, {4, 0}},
    Scene{"nothing", "DDDDHHUUDD", {2, 0}, {0, 0}},
    Scene{"dirty data", "DDDDHHUUDD", {2, 0}, {5, 0}, 0, true},
};
constexpr std::uint64_t limit_in_steps = 10;

class ThroughIoUring {
 public:
    explicit ThroughIoUring(Experiment& experiment)
        : experiment_(experiment),
          root_(experiment.filesystem().root()),
          units_(allocation_units(experiment.filesystem())) {}

    void run() {
        for (const Mode& mode : all_modes()) {
            for (const Scene& scene : scenes) call(mode, scene, O_RDWR, std::nullopt);
            call(mode, scenes.front(), O_RDONLY, std::nullopt);
            call(mode, {"behind RLIMIT_FSIZE", "DDDDHHUUDD", {8, 0}, {4, 0}}, O_RDWR, limit_in_steps * units_.step);
        }
        experiment_.observe("fallocate", wrong_.empty() ? "as fallocate(2)" : wrong_.front(),
                            {{"all", wrong_}, {"tried", tried_}});
        truncate();
    }

 private:
    // The same call on two files alike: by the system call, and by io_uring.
    void call(const Mode& mode, const Scene& scene, int flags, std::optional<std::uint64_t> limit) {
        const Stage plain = create(scene);
        Stage stage = create(scene);
        compare(mode, scene, flags, limit, plain, stage);
        for (const auto* file : {&plain.file, static_cast<const File*>(&stage.file)})
            std::filesystem::remove(file->path());
    }

    void compare(const Mode& mode, const Scene& scene, int flags, std::optional<std::uint64_t> limit,
                 const Stage& plain, Stage& stage) {
        const auto plain_file = File::open(plain.file.path(), flags);
        const auto file = File::open(stage.file.path(), flags);
        std::optional<FileSizeLimit> limited;
        if (limit) limited.emplace(*limit);
        const int right = plain_file.fallocate(mode.flags, plain.offset, plain.length);
        ring_.prepare_fallocate(file.descriptor(), mode.flags, stage.offset, stage.length, 1);
        const auto result = ring_.run_one();
        limited.reset();
        ++tried_;
        const auto what = fmt::format("{} of {}{}", mode.name, scene.what,
                                      flags == O_RDONLY ? " through a descriptor for reading" : "");
        const auto found = static_cast<int>(result < 0 ? -result : 0);
        if (result > 0 || found != right)
            wrong_.push_back(fmt::format("{} for {}, where fallocate(2) gives {}",
                                         result > 0 ? std::to_string(result) : outcome_of(found), what,
                                         outcome_of(right)));
        if (result == 0) {
            mode.apply(stage.model, stage.offset, stage.length);
            if (scene.dirty) stage.model.let_unwritten_be_zeroed();
        }
        // A call that is refused may have been done in part by then, but that is not io_uring's.
        if (right != 0 && find_difference(plain.model, plain.file, units_)) return;
        if (const auto difference = find_difference(stage.model, stage.file, units_))
            wrong_.push_back(fmt::format("{} after {}: {}", difference->what, what, difference->detail));
    }

    void truncate() {
        std::vector<std::string> wrong;
        for (const std::uint64_t size : {3 * units_.step, 3 * units_.step + 100, 20 * units_.step, 10 * units_.step}) {
            Stage stage = create(scenes.front());
            ring_.prepare_truncate(stage.file.descriptor(), size, 1);
            const auto result = ring_.run_one();
            if (result == -EINVAL && wrong.empty()) return experiment_.observe("ftruncate", "not supported");
            stage.model.truncate(size);
            if (result != 0)
                wrong.push_back(fmt::format("{} for ftruncate to {}", outcome_of(static_cast<int>(-result)), size));
            else if (const auto difference = find_content_difference(stage.model, stage.file))
                wrong.push_back(
                    fmt::format("{} after ftruncate to {}: {}", difference->what, size, difference->detail));
        }
        experiment_.observe("ftruncate", wrong.empty() ? "as ftruncate(2)" : wrong.front(), {{"all", wrong}});
    }

    [[nodiscard]] Stage create(const Scene& scene) {
        ++number_;
        return set_up(scene, root_ / fmt::format("file-{}", number_), number_, units_);
    }

    Experiment& experiment_;
    std::filesystem::path root_;
    AllocationUnits units_;
    Uring ring_{1};
    std::uint32_t number_ = 0;
    std::uint64_t tried_ = 0;
    std::vector<std::string> wrong_;
};

void run(Experiment& experiment) { ThroughIoUring{experiment}.run(); }

}  // namespace

extern const Case fallocate_through_io_uring;
const Case fallocate_through_io_uring{
    .name = "fallocate.through_io_uring",
    .summary = "calls fallocate in every mode, and ftruncate, through io_uring, and compares with the system calls",
    .method =
        "Of two files alike, of data, holes and unwritten extents, one gets fallocate(2) and the other "
        "IORING_OP_FALLOCATE, in every mode: of whole blocks, of parts of them, past the end, of no length, under "
        "dirty pages, through a descriptor for reading, and past RLIMIT_FSIZE. The errno must be the same, and size, "
        "content, extents and block count must be those of a model. Then IORING_OP_FTRUNCATE, where the kernel has "
        "it, makes files shorter and longer.",
    .needs = {{"feature", "io_uring"}},
    .disk = DiskNeed::poisoned,
    .run = run,
};

}  // namespace holdfast::cases
