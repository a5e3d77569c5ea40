#include "harness/results/junit.h"

#include <algorithm>
#include <sstream>

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/results/details.h"

namespace holdfast {
namespace {

using Tree = boost::property_tree::ptree;

void set(Tree& element, const char* attribute, const std::string& value) {
    element.put(fmt::format("<xmlattr>.{}", attribute), value);
}

std::string decimal(double seconds) { return fmt::format("{:.3f}", seconds); }

const char* element_for(Verdict verdict) {
    switch (verdict) {
        case Verdict::fail:
        case Verdict::hang:
        case Verdict::crash:
            return "failure";
        case Verdict::broken:
            return "error";
        case Verdict::xfail:
        case Verdict::skip:
            return "skipped";
        case Verdict::pass:
        case Verdict::xpass:
            return nullptr;
    }
    return nullptr;
}

Tree describe_verdict(const CaseResult& result) {
    Tree element;
    set(element, "type", std::string{verdict_text(result.verdict)});
    set(element, "message", printable(result.reason));
    element.put_value(fmt::format("{}", fmt::join(describe_details(result), "\n")));
    return element;
}

Tree format_case(const CaseResult& result) {
    Tree element;
    set(element, "name", fmt::format("{}/{}", result.name, describe_filesystem(result)));
    set(element, "classname", result.name);
    set(element, "time", decimal(result.seconds));
    if (const char* name = element_for(result.verdict)) element.add_child(name, describe_verdict(result));
    if (result.verdict == Verdict::xpass) element.put("system-out", fmt::format("XPASS: {}", printable(result.reason)));
    return element;
}

struct Suite {
    std::string family;
    Tree cases;
    VerdictCounts counts;
    double seconds = 0;
};

std::vector<Suite> group_by_family(const std::vector<CaseResult>& results) {
    std::vector<Suite> suites;
    for (const auto& result : results) {
        auto suite =
            std::find_if(suites.begin(), suites.end(), [&](const Suite& one) { return one.family == result.family(); });
        if (suite == suites.end()) suite = suites.insert(suites.end(), Suite{std::string{result.family()}, {}, {}});
        suite->cases.add_child("testcase", format_case(result));
        suite->counts.add(result.verdict);
        suite->seconds += result.seconds;
    }
    return suites;
}

std::string count(const VerdictCounts& counts, std::initializer_list<Verdict> verdicts) {
    std::size_t sum = 0;
    for (const auto verdict : verdicts) sum += counts.of(verdict);
    return std::to_string(sum);
}

void set_counts(Tree& element, const VerdictCounts& counts, double seconds) {
    set(element, "tests", std::to_string(counts.total()));
    set(element, "failures", count(counts, {Verdict::fail, Verdict::hang, Verdict::crash}));
    set(element, "errors", count(counts, {Verdict::broken}));
    set(element, "time", decimal(seconds));
}

Tree format_properties(const Results& results) {
    Tree properties;
    const auto add = [&](const char* name, const std::string& value) {
        auto& property = properties.add("property", "");
        set(property, "name", name);
        set(property, "value", printable(value));
    };
    add("run", results.run.id);
    add("kernel", results.machine.kernel_release);
    add("profile", results.run.profile);
    add("seed", std::to_string(results.run.seed));
    return properties;
}

Tree format_suite(const Suite& suite, const Results& results) {
    Tree element;
    set(element, "name", suite.family);
    set_counts(element, suite.counts, suite.seconds);
    set(element, "skipped", count(suite.counts, {Verdict::xfail, Verdict::skip}));
    set(element, "timestamp", results.run.started);
    element.add_child("properties", format_properties(results));
    for (const auto& [name, testcase] : suite.cases) element.add_child(name, testcase);
    return element;
}

}  // namespace

std::string format_junit(const Results& results) {
    Tree suites;
    set(suites, "name", "holdfast");
    const auto planned = results.planned();
    VerdictCounts counts;
    for (const auto& result : planned) counts.add(result.verdict);
    set_counts(suites, counts, results.run.seconds);
    for (const auto& suite : group_by_family(planned)) suites.add_child("testsuite", format_suite(suite, results));
    Tree document;
    document.add_child("testsuites", suites);
    std::ostringstream text;
    const boost::property_tree::xml_writer_settings<std::string> settings{' ', 2, "utf-8"};
    boost::property_tree::write_xml(text, document, settings);
    return text.str();
}

}  // namespace holdfast
