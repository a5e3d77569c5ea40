// The signals that end a run early.
#pragma once

#include <csignal>

#include "fixtures/base/descriptor.h"

namespace holdfast {

/// SIGINT, SIGTERM and SIGHUP, taken from a descriptor instead of by a handler, for as long as it exists.
class EndingSignals {
 public:
    EndingSignals();
    EndingSignals(const EndingSignals&) = delete;
    EndingSignals& operator=(const EndingSignals&) = delete;
    ~EndingSignals();

    /// Readable when one has come.
    [[nodiscard]] int descriptor() const { return signals_.get(); }
    /// The one that has come; 0 where none has.
    [[nodiscard]] int take();

 private:
    sigset_t before_{};
    Descriptor signals_;
};

}  // namespace holdfast
