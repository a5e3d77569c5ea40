// aio_append.at_eof where the kernel does not show stacks: the verdict must be the same, and the result must say so.
#include <linux/capability.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "fixtures/base/without_capability.h"

namespace holdfast::cases {

extern const Case aio_append_at_eof;

namespace {

// Without the capability, /proc/PID/stack reads as on a kernel without CONFIG_STACKTRACE.
void run(Experiment& experiment) {
    const WithoutCapability unprivileged(CAP_SYS_ADMIN);
    aio_append_at_eof.run(experiment);
}

}  // namespace

extern const Case planted_hidden_stacks;
const Case planted_hidden_stacks{
    .name = "planted.hidden_stacks",
    .summary = "plays aio_append.at_eof where /proc/PID/stack cannot be read",
    .method = "Gives up CAP_SYS_ADMIN before it asks.",
    .disk = DiskNeed::held,
    .run = run,
};

}  // namespace holdfast::cases
