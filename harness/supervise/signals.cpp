#include "harness/supervise/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include "fixtures/base/failure.h"

namespace holdfast {

EndingSignals::EndingSignals() {
    sigset_t ending;
    sigemptyset(&ending);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ending, signal);
    checked(::sigprocmask(SIG_BLOCK, &ending, &before_), "blocking signals");
    signals_ = Descriptor{checked(::signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK), "signalfd")};
}

EndingSignals::~EndingSignals() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

int EndingSignals::take() {
    signalfd_siginfo info{};
    if (::read(signals_.get(), &info, sizeof info) != sizeof info) return 0;
    return static_cast<int>(info.ssi_signo);
}

}  // namespace holdfast
