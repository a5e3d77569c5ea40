#include "cases/aio_append/shared/ask.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/uio.h>

#include "cases/aio_append/shared/perform.h"
#include "cases/stale_data/shared/judged_read.h"
#include "fixtures/base/failure.h"
#include "fixtures/io/warm_up.h"
#include "fixtures/probe/features.h"

namespace holdfast {
namespace {

// What the judge of the content has to say, in one sentence.
std::string first_wrong(const Findings& findings) {
    for (const auto* sentences :
         {&findings.stale_sentences(), &findings.lost_sentences(), &findings.unreadable_sentences()})
        if (!sentences->empty()) return sentences->front();
    return "right";
}

// Of a call that blocks.
nlohmann::json evidence_of_stack(const Blocked& blocked) {
    if (!blocked.stack.empty()) return {{"stack", blocked.stack}};
    return {{"stack_missing", "/proc/self/task/TID/stack cannot be read"}};
}

std::string judge_file(const std::filesystem::path& path, const FileContent& content) {
    Findings findings;
    judge_whole_file(path, content, findings);
    return first_wrong(findings);
}

class Interview {
 public:
    Interview(Experiment& experiment, const Scene& scene) : experiment_(experiment), scene_(scene) {}

    void run() {
        auto& filesystem = experiment_.filesystem();
        try {
            warm_up(filesystem.root());
            ask_aio();
            ask_nowait();
            ask_uring();
            ask_synchronous();
            experiment_.observe("content", content_);
            if (is_dsync(scene_) && !asks_durability()) skip_durability();
        } catch (const Stage::Refused& refused) {
            experiment_.observe("preallocated", error_name(refused.error));
            return;
        }
        if (scene_.file.allocated) experiment_.observe("preallocated", "yes");
    }

 private:
    Stage new_stage() { return {experiment_.filesystem(), scene_, next_stage_++}; }
    Cast with(Way& way, int more_flags = 0) {
        return {.way = way,
                .earlier = *earlier_,
                .more_flags = more_flags,
                .touch = experiment_.recipe().has_mount_option("wsync") ? Touch::by_failing_write : Touch::by_call};
    }
    Disk& disk() { return experiment_.filesystem().disk(); }

    void ask_aio() {
        auto stage = new_stage();
        std::uint64_t size = 0;
        const auto outcome = perform(disk(), stage, with(*aio_), [&] {
            size = stage.file().size();
            keep_durable();
        });
        require_taken(outcome);
        observe_submission(outcome);
        const bool all = std::ranges::equal(outcome.results, scene_.writes, {}, {}, [](const Range& range) {
            return static_cast<std::int64_t>(range.length());
        });
        experiment_.observe("completed", all, {{"results", outcome.results}});
        const auto expected = size_after(scene_);
        experiment_.observe("size_after", size == expected ? nlohmann::json("right") : nlohmann::json(size),
                            {{"bytes", size}, {"expected", expected}});
        judge(stage, "io_submit");
        if (asks_durability()) experiment_.observe("durable", judge_durability(stage));
    }

    void judge(const Stage& stage, std::string_view how) {
        if (const auto found = judge_file(stage.file().path(), stage.content());
            found != "right" && content_ == "right")
            content_ = fmt::format("{} (after {})", found, how);
    }

    void observe_submission(const Outcome& outcome) {
        auto evidence = outcome.blocks ? evidence_of_stack(outcome.first) : nlohmann::json::object();
        if (scene_.meanwhile != Meanwhile::nothing) evidence["call_meanwhile_waits"] = outcome.meanwhile_waits;
        experiment_.observe("submission", outcome.blocks ? "blocks" : "async", evidence);
        if (outcome.first.where) experiment_.observe("where", *outcome.first.where);
        if (!outcome.waits_for.empty())
            experiment_.observe("waits_for", fmt::format("{}", fmt::join(outcome.waits_for, ", ")));
        experiment_.observe("completed_while_held", outcome.completed_while_held);
    }

    void require_taken(const Outcome& outcome) const {
        if (outcome.taken != static_cast<long>(scene_.writes.size()))
            throw SystemFailure(fmt::format("io_submit of {} requests took {}", scene_.writes.size(), outcome.taken),
                                outcome.taken < 0 ? static_cast<int>(-outcome.taken) : EAGAIN);
    }

    void ask_nowait() {
        std::string answer;
        bool may_be_for_times_alone = true;
        while (may_be_for_times_alone) {
            auto stage = new_stage();
            const auto outcome = perform(disk(), stage, with(*aio_, RWF_NOWAIT));
            answer = describe_nowait(outcome);
            judge(stage, "io_submit with RWF_NOWAIT");
            may_be_for_times_alone = answer == "EAGAIN" && outcome.clock_has_ticked;
        }
        experiment_.observe("nowait", answer);
    }

    [[nodiscard]] std::string describe_nowait(const Outcome& outcome) const {
        if (outcome.blocks) return "blocks";
        if (outcome.taken < 0) return error_name(static_cast<int>(-outcome.taken));
        return describe_results(outcome).value_or("completes");
    }

    // Of the writes that were taken: nothing where each of them is complete.
    [[nodiscard]] std::optional<std::string> describe_results(const Outcome& outcome) const {
        for (std::size_t i = 0; i < outcome.results.size(); ++i) {
            const auto result = outcome.results[i];
            const auto length = scene_.writes.at(i).length();
            if (result < 0) return error_name(static_cast<int>(-result));
            if (result != static_cast<std::int64_t>(length)) return fmt::format("{} of {} bytes", result, length);
        }
        return std::nullopt;
    }

    void ask_uring() {
        if (find_missing_feature("io_uring")) {
            experiment_.observe("io_uring", "unavailable");
            if (asks_durability()) experiment_.observe("durable_io_uring", "unavailable");
            return;
        }
        std::string answer;
        std::string kept = "yes";
        auto evidence = nlohmann::json::object();
        bool may_be_for_times_alone = true;
        while (may_be_for_times_alone) {
            auto stage = new_stage();
            const auto way = uring_way();
            const auto outcome = perform(disk(), stage, with(*way), [&] { keep_durable(); });
            if (asks_durability() && kept == "yes") kept = judge_durability(stage);
            answer = describe_results(outcome).value_or(outcome.blocks   ? "blocks"
                                                        : outcome.punted ? "punted"
                                                                         : "inline");
            judge(stage, "io_uring");
            if (!outcome.worker_stack.empty()) evidence["worker_stack"] = outcome.worker_stack;
            may_be_for_times_alone = answer == "punted" && outcome.clock_has_ticked;
        }
        if (answer != "punted") evidence.clear();
        experiment_.observe("io_uring", answer, evidence);
        if (asks_durability()) experiment_.observe("durable_io_uring", kept);
    }

    void ask_synchronous() {
        auto stage = new_stage();
        const auto way = synchronous_way();
        const auto outcome = perform(disk(), stage, with(*way), [&] { keep_durable(); });
        const auto evidence = outcome.blocks ? evidence_of_stack(outcome.first) : nlohmann::json::object();
        const auto waits_for =
            outcome.waits_for.empty() ? "the disk" : fmt::format("{}", fmt::join(outcome.waits_for, ", "));
        experiment_.observe("synchronous", outcome.blocks ? "waits for " + waits_for : "returns", evidence);
        judge(stage, "pwritev2");
        if (asks_durability()) experiment_.observe("durable_synchronous", judge_durability(stage));
    }

    [[nodiscard]] bool asks_durability() const { return is_dsync(scene_) && experiment_.held_disk() != nullptr; }

    // A disk of which no more can be told than that all its writes are held.
    void skip_durability() const {
        const auto missing = find_missing_feature("fuse");
        experiment_.skip(fmt::format("what a power cut would leave is known only of a held disk: {}",
                                     missing ? describe({*missing}) : "this filesystem is too large for one"));
    }

    // What a power cut in this moment would keep of all that was ever written to the disk.
    void keep_durable() {
        if (!asks_durability()) return;
        durable_ = durable(experiment_.held_disk()->served().log());
    }

    std::string judge_durability(const Stage& stage) {
        try {
            const DisposableFilesystem crashed{experiment_.recipe(),
                                               experiment_.held_disk()->crash_state(durable_.value())};
            const auto path = crashed.root() / stage.file().path().filename();
            std::error_code error;
            const auto size = std::filesystem::file_size(path, error);
            if (error) return "no file";
            if (size != size_after(scene_)) return fmt::format("a file of {} bytes", size);
            return judge_file(path, stage.content()) == "right" ? "yes" : judge_file(path, stage.content());
        } catch (const Failure& failure) {
            return fmt::format("no filesystem: {}", failure.what());
        }
    }

    Experiment& experiment_;
    const Scene& scene_;
    // Made once: ending an AIO context takes the kernel longer than all else here.
    std::unique_ptr<Way> aio_ = aio_way();
    std::unique_ptr<Way> earlier_ = scene_.earlier.empty() ? synchronous_way() : aio_way();
    std::uint32_t next_stage_ = 1;
    std::optional<std::vector<std::uint64_t>> durable_;
    std::string content_ = "right";
};

}  // namespace

void ask(Experiment& experiment, const Scene& scene) { Interview{experiment, scene}.run(); }

std::vector<Requirement> aio_append_needs() { return {{"feature", "aio"}}; }

}  // namespace holdfast
