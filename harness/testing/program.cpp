#include "harness/testing/program.h"

namespace holdfast {

ToolRun holdfast(const std::vector<std::string>& arguments) { return run_tool(HOLDFAST, arguments); }

ToolRun holdfast_planted(const std::vector<std::string>& arguments) { return run_tool(HOLDFAST_PLANTED, arguments); }

CaseResult planted(const std::string& name, const std::string& filesystem) {
    const Scratch scratch;
    const auto file = scratch / "results.json";
    holdfast_planted({"run", "planted." + name, "--filesystem", filesystem, "--results", file.string()});
    return read_result_file(file).cases.at(0);
}

CaseResult run_one(const std::string& name, const std::string& filesystem) {
    const Scratch scratch;
    const auto file = scratch / "results.json";
    holdfast({"run", name, "--filesystem", filesystem, "--results", file.string()});
    return read_result_file(file).cases.at(0);
}

ToolRun as_nobody(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all",
                                         "--inh-caps=-all", HOLDFAST});
    return run_tool("setpriv", arguments);
}

}  // namespace holdfast
