#include "cases/stale_data/machine/step_json.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cases/fallocate/shared/mode.h"

namespace holdfast::machine {
namespace {

using nlohmann::json;

// One field of a step: how it is written and how it is read.
struct Field {
    std::string_view name;
    std::function<json(const Step&)> write;
    std::function<void(Step&, const Value&)> read;
};

template <typename Number>
Field number(std::string_view name, Number Step::*member, std::uint64_t least, std::uint64_t most,
             std::uint64_t unit = 1) {
    return {
        name, [member](const Step& step) { return json(step.*member); },
        [=](Step& step, const Value& value) {
            const auto found = value.unsigned_integer();
            if (found < least || found > most || found % unit != 0)
                value.refuse(fmt::format("a {} from {} to {}", unit == 1 ? "number" : "multiple of 512", least, most));
            step.*member = static_cast<Number>(found);
        }};
}

template <typename Enumeration, std::size_t count>
Field word(std::string_view name, Enumeration Step::*member, const std::array<std::string_view, count>& names) {
    return {name, [member, &names](const Step& step) { return json(name_of(names, step.*member)); },
            [member, &names](Step& step, const Value& value) {
                const auto found = std::ranges::find(names, value.text());
                if (found == names.end()) value.refuse(fmt::format("one of {}", fmt::join(names, ", ")));
                step.*member = static_cast<Enumeration>(found - names.begin());
            }};
}

Field way_field() {
    return {"way", [](const Step& step) { return json(describe(step.way)); },
            [](Step& step, const Value& value) {
                const auto text = value.text();
                std::vector<std::string_view> all;
                for (int way = 0; way <= static_cast<int>(last_way); ++way) {
                    all.push_back(describe(static_cast<WriteWay>(way)));
                    if (all.back() == text) return void(step.way = static_cast<WriteWay>(way));
                }
                value.refuse(fmt::format("one of {}", fmt::join(all, ", ")));
            }};
}

Field mode_field() {
    return {"mode", [](const Step& step) { return json(mode_name(step.mode)); },
            [](Step& step, const Value& value) {
                const auto text = value.text();
                std::vector<std::string_view> all;
                for (const auto& mode : fallocate::all_modes()) {
                    all.push_back(mode.name);
                    if (mode.name == text) return void(step.mode = mode.flags);
                }
                value.refuse(fmt::format("one of {}", fmt::join(all, ", ")));
            }};
}

std::vector<Field> fields_of(Action action) {
    const auto file = number("file", &Step::file, 0, files - 1);
    const auto other = number("other", &Step::other, 0, files - 1);
    const auto offset = number("offset", &Step::offset, 0, furthest, sector_size);
    const auto length = number("length", &Step::length, sector_size, furthest, sector_size);
    const auto from = number("from", &Step::from, 0, furthest, sector_size);
    const auto seed = number("seed", &Step::seed, 0, UINT32_MAX);
    switch (action) {
        case Action::write:
            return {file, offset, length, way_field()};
        case Action::failing_write:
            return {file, offset, length, way_field(), number("after", &Step::after, 0, 1000)};
        case Action::store:
            return {file, offset, length};
        case Action::fallocate:
            return {file, offset, length, mode_field()};
        case Action::truncate:
            return {file, offset};
        case Action::copy:
        case Action::clone_range:
            return {file, offset, length, other, from};
        case Action::clone:
            return {file, other};
        case Action::drop_cache:
            return {file};
        case Action::sync:
            return {file, word("by", &Step::syncing, syncing_names)};
        case Action::look:
            return {file, word("by", &Step::reading, reading_names)};
        case Action::power_cut:
            return {number("back", &Step::back, 0, UINT32_MAX), word("kept", &Step::kept, kept_names), seed};
        case Action::together:
            return {word("release", &Step::release, release_names), seed};
    }
    return {};
}

json to_json(const Step& step) {
    json result{{"do", name_of(action_names, step.action)}};
    for (const auto& field : fields_of(step.action)) result[std::string{field.name}] = field.write(step);
    if (step.action == Action::together) result["steps"] = machine::to_json(step.inside);
    return result;
}

Step read_step(const Value& value, bool is_inside) {
    Step step;
    const auto action = value.required("do");
    word("do", &Step::action, action_names).read(step, action);
    const auto fields = fields_of(step.action);
    for (const auto& [key, member] : value.members()) {
        const bool steps = key == "steps" && step.action == Action::together;
        const auto is_it = [&key = key](const Field& field) { return field.name == key; };
        if (key != "do" && !steps && std::ranges::none_of(fields, is_it))
            member.refuse(fmt::format("no field of this name in a step that does \"{}\"", action.text()));
    }
    for (const auto& field : fields) field.read(step, value.required(field.name));
    if (is_inside && !may_be_together(step)) value.refuse("a step that can be in flight together with others");
    if (step.action == Action::together)
        for (const auto& inner : value.required("steps").items()) step.inside.push_back(read_step(inner, true));
    if (step.offset + step.length > furthest || step.from + step.length > furthest)
        value.refuse(fmt::format("a range within the first {} bytes", furthest));
    if (step.action == Action::failing_write && !is_direct(step.way)) value.refuse("a direct way to write");
    return step;
}

}  // namespace

json to_json(const Steps& steps) {
    auto result = json::array();
    for (const auto& step : steps) result.push_back(to_json(step));
    return result;
}

Steps read_steps(const Value& value) {
    Steps steps;
    for (const auto& item : value.items()) steps.push_back(read_step(item, false));
    return steps;
}

}  // namespace holdfast::machine
