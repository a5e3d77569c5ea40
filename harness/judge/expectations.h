// Expectations: what is right for which case, filesystem and kernel, and why. Data from cases/FAMILY/expectations.json.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fixtures/base/document.h"
#include "fixtures/probe/kernel_version.h"
#include "harness/judge/expected_value.h"

namespace holdfast {

/// Names of cases, as far as a document may speak of them.
using CaseNames = std::set<std::string, std::less<>>;

/// Where something holds: filesystems by name, with the wildcards of fnmatch(3), and a range of kernels.
struct Scope {
    std::vector<std::string> filesystems;
    KernelRange kernel;

    [[nodiscard]] bool covers(std::string_view filesystem, KernelVersion version) const;
};

/// What is right on some filesystems in place of what the contract says in general.
struct Override {
    Scope scope;
    ExpectedValues expect;
    std::string why;
    std::string source;
};

/// A known, sourced deviation from the contract.
struct Limitation {
    Scope scope;
    ExpectedValues observe;
    std::string why;
    std::string source;
};

/// All that is known about one case.
struct Expectation {
    std::string case_name;
    ExpectedValues contract;
    std::vector<Override> overrides;
    std::vector<Limitation> limitations;
};

class Expectations {
 public:
    /// Reads documents of the form
    ///   [{"case": "fallocate.modes", "contract": {"observation": VALUE, ...},
    ///     "per_filesystem": [{"filesystems": ["ext4*"], "kernel": ">=6.5", "expect": {...}, "why": "", "source": ""}],
    ///     "limitations": [{"filesystems": ["ext3*"], "kernel": ">=4.3", "observe": {...}, "why": "", "source": ""}]}]
    /// where VALUE is as in ExpectedValue; "kernel", "per_filesystem" and "limitations" may be left out. What several
    /// cases share stands once, in an entry with "cases": ["aio_append.*", ...] (wildcards of fnmatch(3)) in place of
    /// "case"; it adds to each case's own entry, which goes before. Throws BadInput naming file, line, entry and field:
    /// for keys it does not know, an empty text, a limitation without why or source, a case or a pattern of cases that
    /// is not among `known`, and a case that has two entries of its own, in one document or in two.
    [[nodiscard]] static Expectations parse(std::span<const Value> documents, const CaseNames& known);

    /// Replaces the entries of the cases that `document` has entries for (`--expectations FILE`). Throws as above.
    void replace(const Value& document, const CaseNames& known);

    /// Null where the case has no entry.
    [[nodiscard]] const Expectation* find(std::string_view case_name) const;

 private:
    std::map<std::string, Expectation, std::less<>> entries_;
};

/// Reads an array of patterns with the wildcards of fnmatch(3). Throws BadInput, also where there is none.
[[nodiscard]] std::vector<std::string> parse_patterns(const Value& value);

/// True where `name` matches one of `patterns`.
[[nodiscard]] bool matches_any(const std::vector<std::string>& patterns, std::string_view name);

}  // namespace holdfast
