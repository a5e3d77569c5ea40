// Steps as JSON, for evidence and for replaying.
#pragma once

#include <nlohmann/json.hpp>

#include "cases/stale_data/machine/step.h"
#include "fixtures/base/document.h"

namespace holdfast::machine {

/// Each step with the fields that its action has, and no others.
[[nodiscard]] nlohmann::json to_json(const Steps& steps);

/// Throws BadInput naming file, line, step and field ("FILE:LINE: [3].offset: expected ..., found ...").
[[nodiscard]] Steps read_steps(const Value& value);

}  // namespace holdfast::machine
