#include "harness/compare/patch_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

CaseResult append(const std::string& name, const std::string& filesystem, const std::string& submission,
                  const std::string& where = {}) {
    CaseResult result{.name = "aio_append." + name, .filesystem = filesystem, .disk = "held"};
    result.verdict = submission == "async" ? Verdict::pass : Verdict::xfail;
    result.observations.push_back({{.name = "submission", .value = submission}, "async", result.verdict});
    if (!where.empty()) result.observations.push_back({{.name = "where", .value = where}, where, result.verdict});
    return result;
}

CaseResult other(const std::string& name, Verdict verdict) {
    return {.name = name, .filesystem = "ext4", .disk = "held", .verdict = verdict};
}

std::string summary_of(std::vector<CaseResult> cases_before, std::vector<CaseResult> cases_after) {
    Results before;
    before.cases = std::move(cases_before);
    Results after;
    after.cases = std::move(cases_after);
    return summarize_patch(compare(before, after), before, after, 400);
}

TEST(PatchSummary, SaysWhatGotAsynchronousAndWhatStayedBlockingWhere) {
    const auto text =
        summary_of({append("at_eof", "ext4", "blocks", "iomap_dio_rw"), append("at_eof", "ext3", "blocks"),
                    append("gap", "ext4", "blocks", "iomap_dio_rw"), append("hole", "xfs", "async")},
                   {append("at_eof", "ext4", "async"), append("at_eof", "ext3", "async"),
                    append("gap", "ext4", "blocks", "inode_dio_wait"), append("hole", "xfs", "blocks")});
    EXPECT_THAT(text, AllOf(HasSubstr("Got asynchronous: at_eof on ext3, ext4."), HasSubstr("Blocks now: hole on xfs."),
                            HasSubstr("Stayed blocking in inode_dio_wait: gap on ext4.")));
}

TEST(PatchSummary, NamesWhatGotWorseByWhatItIsAWitnessOf) {
    const auto text =
        summary_of({other("stale_data.append_window", Verdict::pass), other("stale_data.crash_hole", Verdict::pass),
                    other("fallocate.modes", Verdict::pass)},
                   {other("stale_data.append_window", Verdict::fail), other("stale_data.crash_hole", Verdict::crash),
                    other("fallocate.modes", Verdict::pass)});
    EXPECT_THAT(text, AllOf(HasSubstr("of what a reader shows: stale_data.append_window on ext4."),
                            HasSubstr("of what a crash state shows: stale_data.crash_hole on ext4."),
                            HasSubstr("No count, no fallocate rule, no append got worse.")));
}

TEST(PatchSummary, OfAPatchThatChangesNothing) {
    const auto text = summary_of({append("at_eof", "ext4", "blocks", "iomap_dio_rw")},
                                 {append("at_eof", "ext4", "blocks", "iomap_dio_rw")});
    EXPECT_THAT(text, AllOf(HasSubstr("No submission got asynchronous."), Not(HasSubstr("Worse")),
                            HasSubstr("No reader, no crash state, no count, no fallocate rule, no append got worse.")));
}

}  // namespace
}  // namespace holdfast
