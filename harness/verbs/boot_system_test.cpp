// Kernels booted, from the outside. HOLDFAST_TEST_KERNEL names the image of one, with its modules beside it.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/utsname.h>

#include "harness/testing/program.h"

namespace holdfast {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using Arguments = std::vector<std::string>;

std::string running_kernel() {
    utsname name{};
    ::uname(&name);
    return name.release;
}

class Boot : public testing::Test {
 protected:
    void SetUp() override {
        const char* kernel = std::getenv("HOLDFAST_TEST_KERNEL");
        if (kernel == nullptr) GTEST_SKIP() << "HOLDFAST_TEST_KERNEL names no kernel to boot";
        kernel_ = kernel;
    }

    [[nodiscard]] ToolRun boot(const Arguments& options, const Arguments& run) const {
        Arguments arguments{"boot", "--kernel", kernel_};
        arguments.insert(arguments.end(), options.begin(), options.end());
        arguments.emplace_back("--");
        arguments.insert(arguments.end(), run.begin(), run.end());
        return holdfast(arguments);
    }

    [[nodiscard]] const std::string& kernel() const { return kernel_; }
    [[nodiscard]] const Scratch& scratch() const { return scratch_; }

 private:
    std::string kernel_;
    Scratch scratch_;
};

TEST_F(Boot, WhatRunsInTheGuestComesBackAsIfItHadRunHere) {
    const auto file = scratch() / "results.json";
    const auto run = boot({}, {"run", "fallocate.errors:aio_append.overwrite", "--filesystem", "ext4,xfs", "--jobs",
                               "2", "--results", file.string()});
    EXPECT_EQ(run.ending.status, 0) << run.output;
    EXPECT_THAT(run.output, AllOf(HasSubstr("/4] "), HasSubstr("4 cases in ")));
    const auto results = read_result_file(file);
    ASSERT_EQ(results.cases.size(), 4U);
    EXPECT_EQ(results.cases.front().name, "aio_append.overwrite");
    EXPECT_NE(results.machine.kernel_release, running_kernel());
    EXPECT_THAT(results.cases.front().command, HasSubstr("holdfast boot --kernel " + kernel()));
}

TEST_F(Boot, AFailureInTheGuestIsABadKernel) {
    const auto mine = scratch().write("mine.json", R"([{"case": "aio_append.overwrite", "contract": {
        "submission": "blocks", "completed_while_held": {"any": true}, "completed": {"any": true},
        "size_after": {"any": true}, "content": {"any": true}, "nowait": {"any": true}, "io_uring": {"any": true},
        "synchronous": {"any": true}}}])");
    const auto run = boot({}, {"run", "--expectations", mine.string(), "aio_append.overwrite", "--filesystem", "ext4",
                               "--results", (scratch() / "results.json").string()});
    EXPECT_EQ(run.ending.status, 1) << run.output;
    EXPECT_THAT(run.output, HasSubstr("submission is async, expected blocks"));
}

TEST_F(Boot, AKernelThatPanicsCannotBeAsked) {
    const auto run = boot({"--append", "rdinit=/nowhere"}, {"run", "fallocate.errors"});
    EXPECT_EQ(run.ending.status, 125) << run.output;
    EXPECT_THAT(run.output, AllOf(HasSubstr("before the run began"), HasSubstr("Kernel panic - not syncing")));
}

TEST_F(Boot, ABootThatGoesNowhereEnds) {
    const auto run = boot({"--append", "rdinit=/bin/cat", "--silence", "20"}, {"run", "fallocate.errors"});
    EXPECT_EQ(run.ending.status, 125) << run.output;
    EXPECT_THAT(run.output, HasSubstr("before the run began"));
}

TEST_F(Boot, AKernelIsNotWorseThanItself) {
    const auto run =
        holdfast({"verify", "--base", kernel(), "--patched", kernel(), "--results", (scratch() / "verified").string(),
                  "--", "run", "aio_append.at_eof", "--filesystem", "ext4,xfs", "--jobs", "2"});
    EXPECT_EQ(run.ending.status, 0) << run.output;
}

TEST(BootCommandLine, WhatCannotBeBootedCannotBeAsked) {
    const Scratch scratch;
    const auto text = scratch.write("text", "no kernel").string();
    for (const auto& arguments : std::vector<Arguments>{{"boot", "--kernel", text, "--", "run"},
                                                        {"boot", "--kernel", "/nonexistent", "--", "run"},
                                                        {"boot", "--kernel", text, "--", "list"}}) {
        const auto run = holdfast(arguments);
        EXPECT_EQ(run.ending.status, 125) << run.output;
    }
}

}  // namespace
}  // namespace holdfast
