// Planted: a case that dies.
#include <csignal>

#include "cases/case.h"
#include "cases/experiment.h"

namespace holdfast::cases {
namespace {

void run(Experiment& experiment) {
    experiment.observe("planted", "crash");
    std::raise(SIGSEGV);
}

}  // namespace

extern const Case planted_crash;
const Case planted_crash{
    .name = "planted.crash",
    .summary = "dies of SIGSEGV",
    .method = "Raises the signal after its first observation.",
    .needs = {},
    .run = run,
};

}  // namespace holdfast::cases
