// Planted: a case that does not end.
#include <unistd.h>

#include "cases/case.h"
#include "cases/experiment.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    experiment.observe("planted", "hang");
    for (;;) ::pause();
}

}  // namespace

extern const Case planted_hang;
const Case planted_hang{
    .name = "planted.hang",
    .summary = "sleeps in user space for ever",
    .method = "Calls pause(2).",
    .needs = {},
    .time_bound = std::chrono::seconds{2},
    .run = run,
};

}  // namespace holdfast::cases
