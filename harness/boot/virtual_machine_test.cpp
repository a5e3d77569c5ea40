#include "harness/boot/virtual_machine.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/boot/guest_job.h"
#include "harness/boot/temporary_directory.h"

namespace holdfast {
namespace {

using testing::Contains;
using testing::HasSubstr;

TEST(Panic, IsFoundInAConsole) {
    EXPECT_EQ(find_panic("[ 1.0] x\r\n[ 1.1] Kernel panic - not syncing: no init\r\n[ 1.2] y\r\n"),
              "Kernel panic - not syncing: no init");
    EXPECT_EQ(find_panic("[ 1.0] all is well\r\n"), "");
}

// What stands for a machine here is a program that does what a guest does with its files.
class WatchedGuest : public testing::Test {
 protected:
    WatchedGuest() { std::filesystem::create_directory(files_.share); }

    GuestOutcome run(const std::string& script, Patience patience = {}) {
        return run_machine({"sh", {"-c", script, "machine", files_.share.string(), files_.console.string()}}, files_,
                           patience, [this](const std::string& output, const std::string& progress) {
                               output_ += output;
                               progress_ += progress;
                           });
    }

    TemporaryDirectory directory_;
    GuestFiles files_{.root_image = directory_.path() / "root.cpio",
                      .share = directory_.path() / "share",
                      .console = directory_.path() / "console.log"};
    std::string output_;
    std::string progress_;
};

TEST_F(WatchedGuest, FinishesWithTheStatusOfItsProgram) {
    const auto outcome =
        run("cd $1; : >booted; echo out >stdout; echo err >stderr; printf 'exit status 1\\n1\\n' >ended");
    EXPECT_EQ(outcome.end, GuestEnd::finished);
    EXPECT_TRUE(outcome.booted);
    EXPECT_EQ(outcome.status, 1);
    EXPECT_EQ(output_, "out\n");
    EXPECT_EQ(progress_, "err\n");
}

TEST_F(WatchedGuest, ThatEndsWithStatusZeroAndNoMarkerHasNotFinished) {
    const auto outcome = run("echo 'no such kernel'; exit 0");
    EXPECT_EQ(outcome.end, GuestEnd::vanished);
    EXPECT_FALSE(outcome.booted);
    EXPECT_THAT(outcome.console, HasSubstr("no such kernel"));
}

TEST_F(WatchedGuest, PanicsBeforeAndDuringTheRun) {
    auto outcome = run("echo 'Kernel panic - not syncing: no root' >$2");
    EXPECT_EQ(outcome.end, GuestEnd::panicked);
    EXPECT_FALSE(outcome.booted);
    outcome = run("echo 'Kernel panic - not syncing: Fatal exception' >$2; : >$1/booted");
    EXPECT_EQ(outcome.end, GuestEnd::panicked);
    EXPECT_TRUE(outcome.booted);
    EXPECT_EQ(outcome.panic, "Kernel panic - not syncing: Fatal exception");
}

TEST_F(WatchedGuest, IsHungWithoutASignOfLifeHoweverMuchItPrints) {
    const auto outcome = run("while :; do echo stall >>$2; sleep 0.1; done", {.silence = std::chrono::seconds{1}});
    EXPECT_EQ(outcome.end, GuestEnd::hung);
    EXPECT_THAT(outcome.console, HasSubstr("stall"));
}

TEST_F(WatchedGuest, IsHungWhereItLivesButItsProgramIsQuiet) {
    const auto outcome = run(": >$1/booted; i=0; while :; do i=$((i+1)); echo $i >$1/alive; sleep 0.1; done",
                             {.silence = std::chrono::seconds{60}, .quiet = std::chrono::seconds{1}});
    EXPECT_EQ(outcome.end, GuestEnd::hung);
    EXPECT_TRUE(outcome.booted);
}

TEST_F(WatchedGuest, IsTheMachineOfTheKernel) {
    const auto qemu = command_for({"bzImage", KernelKind::machine, "6.1"}, {.parameters = "x=1"}, false, files_);
    EXPECT_EQ(qemu.program, "qemu-system-x86_64");
    EXPECT_THAT(qemu.arguments, Contains("tcg,thread=multi"));
    EXPECT_THAT(qemu.arguments.back(), HasSubstr(" x=1 -- guest"));
    const auto user = command_for({"/opt/linux", KernelKind::user_mode, "6.1"}, {}, false, files_);
    EXPECT_EQ(user.program, "/opt/linux");
    EXPECT_THAT(user.arguments, Contains("mem=2048M"));
}

TEST(GuestJob, IsReadAsItWasWritten) {
    const TemporaryDirectory directory;
    const GuestJob job{.arguments = {"run", "a*"},
                       .share_type = "9p",
                       .share_options = "trans=virtio",
                       .share_source = "x",
                       .modules = {"loop"},
                       .restart_to_end = false};
    std::ofstream{directory.path() / "job"} << job.to_text();
    const auto read = GuestJob::load(directory.path() / "job");
    EXPECT_EQ(read.to_text(), job.to_text());
}

}  // namespace
}  // namespace holdfast
