#include "cases/stale_data/machine/step.h"

#include <algorithm>

#include <fmt/format.h>

#include "cases/fallocate/shared/mode.h"

namespace holdfast::machine {

bool may_be_together(const Step& step) {
    constexpr std::array ways{WriteWay::buffered, WriteWay::o_sync, WriteWay::direct, WriteWay::direct_aio,
                              WriteWay::direct_ring};
    const auto modes = fallocate::all_modes();
    const auto mode = std::ranges::find(modes, step.mode, &fallocate::Mode::flags);
    return (step.action == Action::write && std::ranges::find(ways, step.way) != ways.end()) ||
           step.action == Action::truncate ||
           (step.action == Action::fallocate && mode != modes.end() && !mode->moves_data()) ||
           (step.action == Action::sync && step.syncing != Syncing::aio_fdsync);
}

std::string_view mode_name(int mode) {
    const auto modes = fallocate::all_modes();
    const auto found = std::ranges::find(modes, mode, &fallocate::Mode::flags);
    return found == modes.end() ? "?" : found->name;
}

std::string describe(const Step& step) {
    const auto name = name_of(action_names, step.action);
    const auto place = fmt::format("{}+{} of file {}", step.offset, step.length, step.file);
    switch (step.action) {
        case Action::write:
            return fmt::format("{} {}, {}", name, place, describe(step.way));
        case Action::failing_write:
            return fmt::format("write {}, {}, while the disk fails from its data request {} on", place,
                               describe(step.way), step.after + 1);
        case Action::store:
            return fmt::format("{} to {} through a mapping", name, place);
        case Action::fallocate:
            return fmt::format("{} {}, {}", name, place, mode_name(step.mode));
        case Action::truncate:
            return fmt::format("{} file {} to {}", name, step.file, step.offset);
        case Action::copy:
        case Action::clone_range:
            return fmt::format("{} from {} of file {} to {}", name, step.from, step.other, place);
        case Action::clone:
            return fmt::format("{} file {} to file {}", name, step.other, step.file);
        case Action::sync:
            return fmt::format("{} file {}", name_of(syncing_names, step.syncing), step.file);
        case Action::look:
            return fmt::format("{} at file {}, {}", name, step.file, name_of(reading_names, step.reading));
        case Action::power_cut:
            return fmt::format("power cut {} requests ago, {} kept", step.back, name_of(kept_names, step.kept));
        case Action::together: {
            auto text = fmt::format("{}, released {}:", name, name_of(release_names, step.release));
            for (const auto& inner : step.inside) text += fmt::format(" [{}]", describe(inner));
            return text;
        }
        case Action::drop_cache:
            return fmt::format("fsync file {} and drop its pages", step.file);
    }
    return std::string{name};
}

std::vector<std::string> describe(const Steps& steps) {
    std::vector<std::string> texts;
    for (const auto& step : steps) texts.push_back(fmt::format("{} {}", texts.size() + 1, describe(step)));
    return texts;
}

}  // namespace holdfast::machine
