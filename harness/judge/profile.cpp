#include "harness/judge/profile.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fixtures/base/failure.h"

namespace holdfast {
namespace {

std::vector<std::string> parse_case_patterns(const Value& value, const CaseNames& known) {
    for (const auto& item : value.items()) {
        const std::vector pattern{item.text()};
        if (std::none_of(known.begin(), known.end(), [&](const auto& name) { return matches_any(pattern, name); }))
            item.refuse("a pattern that matches a case (holdfast list shows them)");
    }
    return parse_patterns(value);
}

Drop parse_drop(const Value& value, const CaseNames& known) {
    value.only({"cases", "filesystems", "observe"});
    Drop drop{parse_case_patterns(value.required("cases"), known), parse_patterns(value.required("filesystems")), {}};
    if (const auto observe = value.optional("observe"))
        for (const auto& [name, member] : observe->members()) {
            if (member.json().is_structured() || member.json().is_null())
                member.refuse("a string, a number, true or false");
            drop.observe.emplace(name, member.json());
        }
    return drop;
}

bool lists(const Limitation& limitation, std::string_view observation, const nlohmann::json& value) {
    const auto listed = limitation.observe.find(observation);
    return listed != limitation.observe.end() && listed->second.judged() && listed->second.matches(value);
}

}  // namespace

Profile Profile::parse(const Value& document, const CaseNames& known) {
    document.only({"name", "describes", "drops"});
    Profile profile{document.required("name").text(), document.required("describes").text(), {}};
    if (profile.name.empty()) document.required("name").refuse("a name");
    for (const auto& drop : document.required("drops").items()) profile.drops.push_back(parse_drop(drop, known));
    return profile;
}

bool Profile::drops_limitation(std::string_view case_name, std::string_view filesystem,
                               const Limitation& limitation) const {
    return std::any_of(drops.begin(), drops.end(), [&](const Drop& drop) {
        return matches_any(drop.cases, case_name) && matches_any(drop.filesystems, filesystem) &&
               std::all_of(drop.observe.begin(), drop.observe.end(),
                           [&](const auto& observed) { return lists(limitation, observed.first, observed.second); });
    });
}

const Profile& find_profile(std::span<const Profile> profiles, std::string_view name) {
    const auto found =
        std::find_if(profiles.begin(), profiles.end(), [&](const auto& one) { return one.name == name; });
    if (found != profiles.end()) return *found;
    std::vector<std::string_view> names;
    for (const auto& profile : profiles) names.emplace_back(profile.name);
    throw BadInput(fmt::format("no profile is called \"{}\"; there are {}", name, fmt::join(names, ", ")));
}

}  // namespace holdfast
