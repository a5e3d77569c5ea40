// Profiles: named sets of expectations. A profile says which limitations excuse a kernel under test no longer.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fixtures/base/document.h"
#include "harness/judge/expectations.h"

namespace holdfast {

/// Drops the limitations of the cases and filesystems it names; with `observe`, only those that list all of these
/// observations with these values.
struct Drop {
    std::vector<std::string> cases;
    std::vector<std::string> filesystems;
    std::map<std::string, nlohmann::json, std::less<>> observe;
};

struct Profile {
    std::string name;
    /// One sentence for people.
    std::string describes;
    std::vector<Drop> drops;

    /// Reads {"name": "", "describes": "", "drops": [{"cases": ["aio_append.*"], "filesystems": ["ext4*"],
    /// "observe": {"submission": "blocks"}}]}; "observe" may be left out. Throws BadInput, also where a pattern of
    /// cases matches none of `known`.
    [[nodiscard]] static Profile parse(const Value& document, const CaseNames& known);

    [[nodiscard]] bool drops_limitation(std::string_view case_name, std::string_view filesystem,
                                        const Limitation& limitation) const;
};

/// Throws BadInput naming all profiles there are.
[[nodiscard]] const Profile& find_profile(std::span<const Profile> profiles, std::string_view name);

}  // namespace holdfast
