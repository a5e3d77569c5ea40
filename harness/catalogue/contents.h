// What a program is made of.
#pragma once

#include <span>

#include "cases/case.h"
#include "fixtures/base/embedded.h"

namespace holdfast {

/// The cases of a program, and what to expect of them.
struct Contents {
    std::span<const Case* const> cases;
    std::span<const EmbeddedFile> expectations;
};

}  // namespace holdfast
