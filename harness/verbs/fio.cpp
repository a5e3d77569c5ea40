// holdfast fio: a job file of fio, as it stands, on a disposable filesystem.
#include <array>
#include <fstream>
#include <iterator>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "fixtures/base/bytes.h"
#include "fixtures/base/child_process.h"
#include "fixtures/base/failure.h"
#include "fixtures/filesystem/disposable.h"
#include "fixtures/filesystem/mkfs.h"
#include "fixtures/filesystem/space.h"
#include "fixtures/probe/kernel_version.h"
#include "harness/catalogue/catalogue.h"
#include "harness/fio/job_file.h"
#include "harness/supervise/signals.h"
#include "harness/verbs/verb.h"

namespace holdfast {
namespace {

constexpr int status_damaged = 1;
constexpr int status_failed = 3;

struct FioOptions {
    std::filesystem::path job;
    std::string filesystem;
    std::string size;
    std::vector<std::string> set;
    std::vector<std::filesystem::path> recipes;
    std::filesystem::path images;
    std::vector<std::string> arguments;
};

std::string read_job(const std::filesystem::path& path) {
    std::ifstream file{path};
    std::string text{std::istreambuf_iterator<char>{file}, {}};
    if (!file.is_open() || file.bad()) throw BadInput(fmt::format("{}: this file cannot be read", path.string()));
    return text;
}

Recipe choose_recipe(const Contents& contents, const FioOptions& options) {
    const auto catalogue = Catalogue::load(contents, {.recipes = options.recipes, .expectations = {}});
    const bool own = options.filesystem.empty() && !catalogue.own_recipes.empty();
    auto recipe = catalogue.find_recipe(own                          ? catalogue.own_recipes.front()
                                        : options.filesystem.empty() ? "ext4"
                                                                     : options.filesystem);
    if (!options.size.empty()) {
        const auto size = parse_bytes(options.size);
        if (!size || *size < recipe.size)
            throw BadInput(fmt::format("--size: expected a size of at least {} for {}, such as 8G, found {}",
                                       format_bytes(recipe.size), recipe.name, options.size));
        recipe.size = *size;
    }
    return recipe;
}

void demand_what_it_needs(const Recipe& recipe, const RunDirectory& directory) {
    if (!find_tool("fio")) throw Failure("fio is not installed (on Debian: apt-get install fio)");
    if (const auto missing = find_missing(recipe.needs); !missing.empty())
        throw Failure(fmt::format("{} cannot be made here: {}", recipe.name, missing.front().what));
    const auto space = space_for_images(directory);
    if (const auto missing = find_missing_space(recipe, DiskKind::zeroed_file, space)) throw Failure(missing->what);
}

Descriptor file_in_memory(const std::string& text) {
    Descriptor file{checked(::memfd_create("job", MFD_CLOEXEC), "memfd_create")};
    checked(::write(file.get(), text.data(), text.size()), "writing a job file to memory");
    checked(::lseek(file.get(), 0, SEEK_SET), "lseek in a job file");
    return file;
}

// Of a signal that came meanwhile fio is told, and ends its jobs by itself.
Ending run_fio(const std::string& text, const std::vector<std::string>& arguments, EndingSignals& signals,
               int& signal) {
    const auto job = file_in_memory(text);
    constexpr int theirs = 3;
    auto all = arguments;
    all.push_back(fmt::format("/proc/self/fd/{}", theirs));
    auto fio = ChildProcess::start({.program = *find_tool("fio"),
                                    .arguments = std::move(all),
                                    .descriptors = {{job.get(), theirs}},
                                    .output = STDOUT_FILENO});
    std::array waited{pollfd{.fd = fio.ended_descriptor(), .events = POLLIN, .revents = 0},
                      pollfd{.fd = signals.descriptor(), .events = POLLIN, .revents = 0}};
    while ((waited[0].revents & POLLIN) == 0) {
        if (::poll(waited.data(), waited.size(), -1) < 0 && errno != EINTR) throw SystemFailure("poll", errno);
        if ((waited[1].revents & POLLIN) == 0) continue;
        signal = signals.take();
        fio.signal_group(SIGTERM);
        constexpr std::chrono::seconds to_end{5};
        if (const auto ending = fio.wait_for(to_end)) return *ending;
        fio.signal_group(SIGKILL);
        break;
    }
    return fio.wait();
}

bool is_full(const std::filesystem::path& root) {
    struct statvfs status {};
    checked(::statvfs(root.c_str(), &status), "statvfs of " + root.string());
    return status.f_bavail < status.f_blocks / 50;
}

int run_jobs(const Contents& contents, const FioOptions& options) {
    std::vector<FioSetting> settings;
    for (const auto& text : options.set) settings.push_back(parse_fio_setting(text));
    const auto text = read_job(options.job);
    (void)map_jobs(text, options.job.string(), "/", settings);  // a bad job file is told before anything is made
    const auto recipe = choose_recipe(contents, options);
    const auto directory =
        options.images.empty() ? RunDirectory::in_memory() : RunDirectory::with_images_in(options.images);
    demand_what_it_needs(recipe, directory);

    EndingSignals signals;
    DisposableFilesystem filesystem{recipe, directory, DiskKind::zeroed_file};
    const auto jobs = map_jobs(text, options.job.string(), filesystem.root(), settings);
    fmt::print(stderr, "holdfast: {} of {} ({}) on kernel {}\n", recipe.name, format_bytes(recipe.size),
               mount_options(recipe), kernel_release());
    for (const auto& [from, to] : jobs.renamed)
        fmt::print(stderr, "holdfast: {} is the plain file {} on it\n", from, to);
    int signal = 0;
    const auto ending = run_fio(jobs.text, options.arguments, signals, signal);
    if (!ending.success() && is_full(filesystem.root()))
        fmt::print(stderr, "holdfast: the filesystem is full; --size makes it larger\n");
    const auto report = filesystem.finish();
    if (report.damaged) fmt::print(stderr, "holdfast: {} found damage:\n{}\n", report.command, report.output);
    if (signal != 0) return 128 + signal;
    if (report.damaged) return status_damaged;
    if (!ending.success()) fmt::print(stderr, "holdfast: fio ended with {}\n", ending.describe());
    return ending.success() ? 0 : status_failed;
}

}  // namespace

void add_fio(CLI::App& app, const Contents& contents, Action& action) {
    const auto options = std::make_shared<FioOptions>();
    auto* verb = app.add_subcommand("fio", "Run a job file of fio on a disposable filesystem");
    verb->add_option("job", options->job, "The job file; its files come to lie on the filesystem")->required();
    verb->add_option("--filesystem", options->filesystem, "Which one: `holdfast list` shows them (ext4)");
    verb->add_option("--recipe", options->recipes, "A filesystem of your own (a file; see images/README.md)")
        ->allow_extra_args(false);
    verb->add_option("--size", options->size, "Its size in place of the recipe's: 8G");
    verb->add_option("--set", options->set,
                     "KEY=VALUE: an option of fio in place of what the job file says, in all jobs")
        ->allow_extra_args(false);
    verb->add_option("--images", options->images, "A directory for the image; it lives in memory where left out");
    verb->add_option("arguments", options->arguments,
                     "After --: arguments of fio itself, such as --output-format=json");
    verb->footer(
        "Example: sudo holdfast fio randwrite.fio --filesystem xfs --size 2G --set runtime=5\n"
        "Exit status: 0 where fio says so and fsck found no damage; 1 damage; 2 a bad command line or job file; 3 fio "
        "failed, or the filesystem could not be made.");
    verb->callback(
        [&action, &contents, options] { action = [&contents, options] { return run_jobs(contents, *options); }; });
}

}  // namespace holdfast
