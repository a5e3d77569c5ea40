#include "harness/supervise/kernel_log.h"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

TEST(KernelLog, TakesTheTextOfKernelRecordsAlone) {
    EXPECT_EQ(kernel_record_text("6,1234,5678,-;EXT4-fs (loop3): mounted\n SUBSYSTEM=block\n"),
              "EXT4-fs (loop3): mounted");
    EXPECT_EQ(kernel_record_text("12,1235,5679,-;WARNING: written by a program\n"), "");
}

TEST(KernelLog, KnowsWhatIsWrong) {
    for (const auto* line :
         {"WARNING: CPU: 1 PID: 77 at fs/ext4/inode.c:3441 ext4_iomap_begin+0x1/0x2",
          "WARNING: fs/iomap/direct-io.c:77 at iomap_dio_rw+0x1/0x2, CPU#1: holdfast/77",
          "BUG: unable to handle page fault for address: 0000000000001000", "Oops: 0002 [#1] PREEMPT SMP",
          "EXT4-fs error (device loop3): ext4_lookup:1785: inode #2: comm ls: deleted inode referenced: 12",
          "XFS (loop1): Corruption detected. Unmount and run xfs_repair", "UBSAN: shift-out-of-bounds in fs/a.c:1",
          "INFO: task holdfast:77 blocked for more than 120 seconds.", "Aborting journal on device loop3-8."})
        EXPECT_TRUE(is_alarm(line)) << line;
}

TEST(KernelLog, StaysCalmOtherwise) {
    for (const auto* line :
         {"EXT4-fs (loop3): mounted filesystem with ordered data mode. Quota mode: none.",
          "loop3: detected capacity change from 0 to 524288", "XFS (loop1): Ending clean mount",
          "systemd[1]: WARNING: something of its own", "EXT4-fs (loop3): warning: mounting unchecked fs"})
        EXPECT_FALSE(is_alarm(line)) << line;
}

TEST(KernelLog, LeavesOutOtherDevices) {
    EXPECT_TRUE(names_another_loop("EXT4-fs error (device loop3): bad", "loop33"));
    EXPECT_FALSE(names_another_loop("EXT4-fs error (device loop3): bad", "loop3"));
    EXPECT_FALSE(names_another_loop("BUG: bad page", "loop3"));
    EXPECT_FALSE(names_another_loop("EXT4-fs error (device loop3): bad", ""));
}

TEST(KernelTaint, NamesNewBits) {
    EXPECT_EQ(KernelTaint::of(1UL << 9 | 1UL << 7).letters_since(KernelTaint::of(1UL << 7)), "W");
    EXPECT_EQ(KernelTaint::of(1UL << 7).letters_since(KernelTaint::of(1UL << 7)), "");
}

}  // namespace
}  // namespace holdfast
