// A job file of fio on a disposable filesystem, from the outside.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>

#include "fixtures/base/bytes.h"
#include "harness/testing/left_behind.h"
#include "harness/testing/program.h"

namespace holdfast {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* job =
    "[global]\nioengine=libaio\ndirect=1\nbs=4k\nrw=randwrite\niodepth=32\n[one]\nsize=16m\nfilename=/dev/nothing\n";

class FioTest : public testing::Test {
 protected:
    void SetUp() override {
        if (!find_tool("fio")) GTEST_SKIP() << "fio is not installed";
    }
    Scratch scratch_;
};

TEST_F(FioTest, WritesToTheFilesystemAndLeavesNothing) {
    const auto file = scratch_.write("job.fio", job).string();
    for (const auto* filesystem : {"ext4", "xfs"}) {
        const auto before = Traces::now();
        const auto run = holdfast({"fio", file, "--filesystem", filesystem, "--", "--output-format=json"});
        EXPECT_EQ(run.ending.status, 0) << run.output;
        EXPECT_THAT(run.output, HasSubstr("/dev/nothing is the plain file dev-nothing on it"));
        const auto json = nlohmann::json::parse(run.output.substr(run.output.find("\n{") + 1));
        EXPECT_EQ(json.at("jobs").at(0).at("write").at("io_bytes"), 16 * MiB);
        // What fio says of the disk below its files: a loop device.
        EXPECT_THAT(json.at("disk_util").at(0).at("name").get<std::string>(), HasSubstr("loop"));
        EXPECT_EQ(Traces::now(), before) << Traces::now().since(before);
    }
}

TEST_F(FioTest, AFullFilesystemIsToldWithTheRemedy) {
    const auto file = scratch_.write("job.fio", job).string();
    const auto full = holdfast({"fio", file, "--set", "size=1g"});
    EXPECT_EQ(full.ending.status, 3) << full.output;
    EXPECT_THAT(full.output, HasSubstr("--size makes it larger"));
}

TEST_F(FioTest, BadInputIsNamed) {
    const auto bad = scratch_.write("bad.fio", "[a]\ninclude x\n").string();
    const auto refuses = [](const std::vector<std::string>& arguments, const std::string& message) {
        const auto run = holdfast(arguments);
        EXPECT_EQ(run.ending.status, 2) << run.output;
        EXPECT_THAT(run.output, HasSubstr(message));
    };
    refuses({"fio", bad}, "bad.fio:2: expected no include");
    refuses({"fio", (scratch_ / "none.fio").string()}, "none.fio: this file cannot be read");
    const auto file = scratch_.write("job.fio", job).string();
    refuses({"fio", file, "--filesystem", "ext5"}, "no filesystem \"ext5\"");
    refuses({"fio", file, "--size", "1M"}, "--size: expected a size of at least");
    refuses({"fio", file, "--set", "size"}, "--set: expected KEY=VALUE");
}

TEST_F(FioTest, ASignalEndsIt) {
    const auto file = scratch_.write("job.fio", std::string{job} + "time_based\nruntime=100\n").string();
    const auto before = Traces::now();
    const Descriptor output{::memfd_create("output", MFD_CLOEXEC)};
    auto child = ChildProcess::start({.program = HOLDFAST, .arguments = {"fio", file}, .output = output.get()});
    ASSERT_FALSE(child.wait_for(std::chrono::milliseconds{1500}));
    ::kill(child.id(), SIGTERM);
    const auto ending = child.wait_for(std::chrono::seconds{15});
    ASSERT_TRUE(ending);
    EXPECT_EQ(ending->status, 128 + SIGTERM);
    EXPECT_TRUE(gone_within(before, 5)) << Traces::now().since(before);
}

}  // namespace
}  // namespace holdfast
