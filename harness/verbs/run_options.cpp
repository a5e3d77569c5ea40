#include "harness/verbs/run_options.h"

#include <map>
#include <string>

namespace holdfast {

void add_run_options(CLI::App& verb, RunOptions& options) {
    verb.add_option("filter", options.plan.filter,
                    "Cases to run, as for --gtest_filter: 'aio_append.*', '*/xfs', 'stale_data.*-*/btrfs*'");
    verb.add_option("--filesystem", options.plan.filesystems,
                    "Filesystems to run on, in place of a matrix: one, or several with commas between")
        ->delimiter(',')
        ->allow_extra_args(false);
    verb.add_option("--matrix", options.plan.matrix, "The filesystems to run on: default or extended")
        ->capture_default_str();
    verb.add_option("--profile", options.profile, "The set of expectations to judge by")->capture_default_str();
    verb.add_option("--results", options.results, "The result file; results/RUN-ID.json where left out");
    verb.add_option("--format", options.format, "What to print: text or ktap")
        ->check(CLI::IsMember({"text", "ktap"}))
        ->capture_default_str();
    verb.add_option("--junit", options.junit, "Also write the results as JUnit XML to this file");
    verb.add_option("--jobs", options.jobs, "Cases to run at once")->check(CLI::Range(1U, 256U))->capture_default_str();
    verb.add_option("--repeat", options.plan.repeat, "Run everything so many times")
        ->check(CLI::Range(1U, 1000000U))
        ->capture_default_str();
    verb.add_option("--seed", options.seed, "Where all randomness comes from; random where left out")
        ->check([](const std::string& text) {
            const bool number = text.find_first_not_of("0123456789") == std::string::npos && text.size() < 20;
            return number ? std::string{} : "expected a number of up to 19 digits, found " + text;
        });
    verb.add_option("--for", options.duration,
                    "How long cases that work in rounds go on (90, 10m, 2h), in place of a few rounds; "
                    "stale_data.stress does")
        ->transform(CLI::AsNumberWithUnit(std::map<std::string, unsigned>{{"s", 1}, {"m", 60}, {"h", 3600}}))
        ->check(CLI::Range(1U, 31U * 86400U));
    verb.add_flag("--full", options.full,
                  "Published workloads (sources.*) at the sizes that they had: takes long, and much memory");
    verb.add_option("--timeout", options.timeout, "Seconds after which a case is a HANG, in place of its own bound")
        ->check(CLI::Range(1U, 86400U));
    verb.add_flag("--strict", options.strict, "Count XPASS and SKIP as failures");
    verb.add_option("--recipe", options.own.recipes, "Run on a filesystem of your own (a file; see images/README.md)")
        ->allow_extra_args(false);
    verb.add_option("--expectations", options.own.expectations,
                    "Expectations of your own (a file), in place of the shipped ones of the same cases")
        ->allow_extra_args(false);
    verb.add_option("--images", options.images, "A directory for the images; they live in memory where left out");
}

}  // namespace holdfast
