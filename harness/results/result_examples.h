// A run to try the formats of results on; for tests.
#pragma once

#include "harness/results/result.h"

namespace holdfast {

/// Two families, every verdict, texts that formats have to escape.
[[nodiscard]] inline Results example_results() {
    const Observation blocks{
        .name = "submission", .value = "blocks", .evidence = {{"stack", {"iomap_dio_rw", "aio_write"}}}};
    const Observation time{.name = "time", .value = 1.5, .unit = "ms", .samples = {1, 2.0}};
    CaseResult pass{.name = "aio_append.at_eof",
                    .filesystem = "xfs",
                    .disk = "file",
                    .verdict = Verdict::pass,
                    .seconds = 0.21,
                    .observations = {{{.name = "submission", .value = "async"}, "async", Verdict::pass}}};
    CaseResult xfail{.name = "aio_append.at_eof",
                     .filesystem = "ext4",
                     .disk = "file",
                     .verdict = Verdict::xfail,
                     .seconds = 0.25,
                     .reason = "ext4 waits for an extending direct write (commit 378f32bab371)",
                     .observations = {{blocks, "async", Verdict::xfail, "ext4 waits for an extending direct write",
                                       "commit 378f32bab371"}}};
    CaseResult fail{.name = "aio_append.overwrite",
                    .filesystem = "ext4",
                    .disk = "file",
                    .verdict = Verdict::fail,
                    .seconds = 1.0,
                    .reason = "submission is blocks, expected async",
                    .observations = {{blocks, "async", Verdict::fail}, {time, {{"any", true}}, Verdict::pass}},
                    .output = "one <line> & \"another\"\n\x1b[0m\xff#\n",
                    .command = "holdfast run 'aio_append.overwrite/ext4' --seed 7",
                    .seed = 7};
    CaseResult crash{.name = "fallocate.modes",
                     .filesystem = "ext4",
                     .disk = "file",
                     .verdict = Verdict::crash,
                     .seconds = 2.0,
                     .reason = "the kernel warned",
                     .kernel_log = {"WARNING: CPU: 1 PID: 7 at fs/ext4/inode.c:1 # ext4", "Call Trace:"},
                     .evidence = {{"fsck", "e2fsck -fn image\nInode 12 is damaged"}}};
    CaseResult hang{.name = "fallocate.modes",
                    .filesystem = "xfs",
                    .disk = "held",
                    .verdict = Verdict::hang,
                    .seconds = 30.0,
                    .reason = "did not end within 30 s",
                    .evidence = {{"threads", {{"7 holdfast", {"folio_wait_bit", "xfs_ilock"}}}}}};
    CaseResult skip{.name = "fallocate.modes",
                    .filesystem = "btrfs",
                    .disk = "file",
                    .verdict = Verdict::skip,
                    .reason = "mkfs.btrfs is not installed; the kernel has no btrfs"};
    CaseResult broken{.name = "fallocate.no_space",
                      .filesystem = "ext4",
                      .disk = "file",
                      .verdict = Verdict::broken,
                      .reason = "no loop device"};
    CaseResult xpass{.name = "fallocate.no_space",
                     .filesystem = "xfs",
                     .disk = "file",
                     .verdict = Verdict::xpass,
                     .reason = "free is true, better than: it leaks (commit 1)"};
    return {.run = {.id = "r1",
                    .started = "2024-05-01T12:00:00Z",
                    .seconds = 34.5,
                    .seed = 18446744073709551615U,
                    .profile = "mainline",
                    .matrix = "default",
                    .shard = Shard{1, 3}},
            .machine = {.kernel_release = "6.18.44",
                        .kernel_version = "#1 SMP",
                        .cpus = 2,
                        .memory_bytes = 8589934592,
                        .tools = {{"mkfs.ext4", "1.47.0"}}},
            .cases = {pass, xfail, fail, crash, hang, skip, broken, xpass}};
}

/// The first case of it alone has run before a signal ended the run: of two others nothing is known.
[[nodiscard]] inline Results example_of_early_end() {
    auto results = example_results();
    const auto not_run = [](const CaseResult& planned) {
        return CaseResult{.name = planned.name,
                          .filesystem = planned.filesystem,
                          .disk = "file",
                          .verdict = Verdict::broken,
                          .reason = "did not run: the run was ended early by SIGINT"};
    };
    results.not_run = {not_run(results.cases[1]), not_run(results.cases[3])};
    results.cases.resize(1);
    return results;
}

}  // namespace holdfast
