#include "harness/results/append_advice.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/judge/expected_value.h"

namespace holdfast {
namespace {

// What a run saw on one filesystem.
class Seen {
 public:
    Seen(const std::vector<CaseResult>& cases, std::string_view filesystem) : cases_(cases), filesystem_(filesystem) {}

    [[nodiscard]] std::optional<std::string> value(std::string_view case_name, std::string_view observation) const {
        for (const auto& one : cases_) {
            if (one.name != case_name || one.filesystem != filesystem_) continue;
            for (const auto& judged : one.observations)
                if (judged.observation.name == observation) return describe_value(judged.observation.value);
        }
        return std::nullopt;
    }
    [[nodiscard]] bool asynchronous(std::string_view case_name) const {
        return value(case_name, "submission") == "async" && !buffered(case_name);
    }
    [[nodiscard]] bool blocks(std::string_view case_name) const { return value(case_name, "submission") == "blocks"; }
    [[nodiscard]] bool buffered(std::string_view case_name) const {
        return value(case_name, "completed_while_held") == describe_value(true);
    }

 private:
    const std::vector<CaseResult>& cases_;
    std::string_view filesystem_;
};

struct Remedy {
    std::string_view case_name;
    std::string_view what;
};

constexpr std::array remedies{
    Remedy{"aio_append.unwritten", "preallocate with fallocate and write below the end of file"},
    Remedy{"aio_append.pre_truncate", "move the end of file ahead with ftruncate and write below it"},
    Remedy{"aio_append.overwrite", "overwrite blocks that were written before"},
};

std::string describe_remedies(const Seen& seen, std::span<const Remedy> candidates) {
    std::vector<std::string_view> found;
    for (const auto& remedy : candidates)
        if (seen.asynchronous(remedy.case_name)) found.push_back(remedy.what);
    if (!found.empty()) return fmt::format(" To avoid it: {}.", fmt::join(found, ", or "));
    const bool tried =
        std::ranges::any_of(candidates, [&](const Remedy& remedy) { return seen.blocks(remedy.case_name); });
    return tried ? " Nothing that was tried avoids it." : "";
}

std::string waits_in(const Seen& seen, std::string_view case_name) {
    const auto where = seen.value(case_name, "where");
    return where ? fmt::format(" (waits in {})", *where) : "";
}

std::optional<std::string> advise(const Seen& seen) {
    constexpr std::string_view append = "aio_append.at_eof";
    constexpr std::string_view second = "aio_append.second_append";
    if (seen.buffered(append))
        return "are buffered although they are O_DIRECT: io_submit returns early, and what it reports as written is "
               "not on the disk.";
    if (seen.blocks(append))
        return fmt::format("block{}.{}", waits_in(seen, append), describe_remedies(seen, remedies));
    if (!seen.asynchronous(append)) return std::nullopt;
    if (!seen.blocks(second)) return "do not block.";
    const std::array one_at_a_time{Remedy{append, "keep one append in flight"}, remedies[0], remedies[1]};
    return fmt::format("do not block one at a time; the next one waits for the one in flight{}.{}",
                       waits_in(seen, second), describe_remedies(seen, one_at_a_time));
}

}  // namespace

std::vector<AppendAdvice> advise_on_appends(const std::vector<CaseResult>& cases) {
    std::vector<AppendAdvice> advices;
    std::vector<std::string_view> done;
    for (const auto& one : cases) {
        if (std::ranges::find(done, one.filesystem) != done.end()) continue;
        done.emplace_back(one.filesystem);
        auto advice = advise({cases, one.filesystem});
        if (!advice) continue;
        const auto same = std::ranges::find(advices, *advice, &AppendAdvice::advice);
        if (same != advices.end())
            same->filesystems.push_back(one.filesystem);
        else
            advices.push_back({{one.filesystem}, *std::move(advice)});
    }
    return advices;
}

}  // namespace holdfast
