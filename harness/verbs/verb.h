// The verbs of the command line: each adds itself to the parser and, when it is the one, sets what to do.
#pragma once

#include <functional>
#include <optional>

#include <CLI/CLI.hpp>

#include "harness/catalogue/contents.h"

namespace holdfast {

/// What the chosen verb does; returns the exit status. Throws BadInput and Failure.
using Action = std::function<int()>;

void add_run(CLI::App& app, const Contents& contents, Action& action);
void add_replay(CLI::App& app, const Contents& contents, Action& action);
void add_fio(CLI::App& app, const Contents& contents, Action& action);
void add_list(CLI::App& app, const Contents& contents, Action& action);
void add_explain(CLI::App& app, const Contents& contents, Action& action);
void add_doctor(CLI::App& app, const Contents& contents, Action& action);
void add_clean(CLI::App& app, Action& action);
void add_append_check(CLI::App& app, Action& action);
void add_boot(CLI::App& app, const Contents& contents, Action& action);
void add_compare(CLI::App& app, Action& action);
void add_verify(CLI::App& app, const Contents& contents, Action& action);
/// Hidden: init of a guest.
void add_guest(CLI::App& app, Action& action);

}  // namespace holdfast
