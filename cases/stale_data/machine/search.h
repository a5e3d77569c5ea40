// What stale_data.state_machine does: random sequences until one fails, and that one made small.
#pragma once

#include <string_view>

#include "cases/experiment.h"
#include "cases/stale_data/machine/machine.h"

namespace holdfast::machine {

/// Observes `stale`, `lost`, `unreadable`, `wrong_answers`, `unmountable` and `damaged` of the last sequence. Of one that
/// has failed, the evidence tells the steps, in words and for `holdfast replay`, which is to run the case of that name.
/// Carries out the steps of experiment.replayed() where there are some.
void search_for_failure(Experiment& experiment, std::string_view case_name, const Plant& plant = {});

}  // namespace holdfast::machine
