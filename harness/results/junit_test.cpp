#include "harness/results/junit.h"

#include <set>
#include <sstream>

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/results/result_examples.h"

namespace holdfast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using Tree = boost::property_tree::ptree;

Tree parse(const std::string& text) {
    std::istringstream stream{text};
    Tree tree;
    boost::property_tree::read_xml(stream, tree);
    return tree.get_child("testsuites");
}

std::vector<Tree> children(const Tree& tree, const std::string& name) {
    std::vector<Tree> found;
    for (const auto& [key, child] : tree)
        if (key == name) found.push_back(child);
    return found;
}

std::string attribute(const Tree& tree, const std::string& name) { return tree.get<std::string>("<xmlattr>." + name); }

std::set<std::string> attributes(const Tree& tree) {
    std::set<std::string> names;
    for (const auto& [name, value] : tree.get_child("<xmlattr>")) names.insert(name);
    return names;
}

TEST(Junit, HasASuiteForEachFamily) {
    const auto tree = parse(format_junit(example_results()));
    EXPECT_EQ(attribute(tree, "tests"), "8");
    const auto suites = children(tree, "testsuite");
    ASSERT_EQ(suites.size(), 2U);
    EXPECT_EQ(attribute(suites[1], "name"), "fallocate");
    EXPECT_EQ(attribute(suites[1], "tests"), "5");
    EXPECT_EQ(attribute(suites[1], "failures"), "2");
    EXPECT_EQ(attribute(suites[1], "errors"), "1");
    EXPECT_EQ(attribute(suites[1], "skipped"), "1");
    EXPECT_EQ(attribute(suites[1], "time"), "32.000");
}

TEST(Junit, ATestcaseHasOnlyWhatTheSchemaAllows) {
    for (const auto& suite : children(parse(format_junit(example_results())), "testsuite")) {
        EXPECT_THAT(attributes(suite), IsSupersetOf({"name", "tests", "failures", "errors"}));
        for (const auto& testcase : children(suite, "testcase"))
            EXPECT_THAT(attributes(testcase), ElementsAre("classname", "name", "time"));
    }
}

TEST(Junit, VerdictsBecomeItsThreeKinds) {
    const auto suites = children(parse(format_junit(example_results())), "testsuite");
    const auto appends = children(suites[0], "testcase");
    EXPECT_EQ(attribute(appends[0], "name"), "aio_append.at_eof/xfs");
    EXPECT_EQ(appends[0].size(), 1U);
    EXPECT_EQ(attribute(appends[1].get_child("skipped"), "type"), "XFAIL");
    EXPECT_EQ(attribute(appends[2].get_child("failure"), "message"), "submission is blocks, expected async");
    EXPECT_THAT(appends[2].get<std::string>("failure"), HasSubstr("one <line> & \"another\"\n  ?[0m\xEF\xBF\xBD#\n"));
    const auto others = children(suites[1], "testcase");
    EXPECT_EQ(attribute(others[0].get_child("failure"), "type"), "CRASH");
    EXPECT_EQ(attribute(others[1].get_child("failure"), "type"), "HANG");
    EXPECT_EQ(attribute(others[2].get_child("skipped"), "type"), "SKIP");
    EXPECT_EQ(attribute(others[3].get_child("error"), "message"), "no loop device");
    EXPECT_THAT(others[4].get<std::string>("system-out"), HasSubstr("XPASS: "));
}

TEST(Junit, WhatDidNotRunIsAnError) {
    const auto tree = parse(format_junit(example_of_early_end()));
    EXPECT_EQ(attribute(tree, "tests"), "3");
    EXPECT_EQ(attribute(tree, "errors"), "2");
    const auto suites = children(tree, "testsuite");
    ASSERT_EQ(suites.size(), 2U);
    const auto appends = children(suites[0], "testcase");
    ASSERT_EQ(appends.size(), 2U);
    EXPECT_THAT(attribute(appends[1].get_child("error"), "message"), HasSubstr("did not run"));
}

}  // namespace
}  // namespace holdfast
