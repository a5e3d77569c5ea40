#include "harness/boot/boot.h"

#include <fmt/format.h>
#include <unistd.h>

#include "fixtures/base/child_process.h"
#include "fixtures/base/document.h"
#include "fixtures/base/failure.h"
#include "harness/boot/guest_job.h"
#include "harness/boot/guest_root.h"
#include "harness/boot/kernel_modules.h"
#include "harness/boot/root_image.h"
#include "harness/boot/temporary_directory.h"

namespace holdfast {
namespace {

namespace fs = std::filesystem;

struct GuestRoot {
    std::vector<std::string> programs;
    std::vector<std::string> files;
    /// To load at once.
    std::vector<std::string> modules;
    std::vector<std::string> modules_on_demand;
};

GuestRoot load_guest_root() {
    const auto& file = shipped_guest_root().front();
    const auto document = Document::parse(file.text, std::string{file.name});
    document.only({"programs", "files", "modules", "modules on demand"});
    return {.programs = document.required("programs").texts(),
            .files = document.required("files").texts(),
            .modules = document.required("modules").texts(),
            .modules_on_demand = document.required("modules on demand").texts()};
}

fs::path find_modules(const BootOptions& options, const KernelImage& kernel) {
    if (!options.modules.empty()) return find_module_tree(options.modules, kernel.release);
    return find_module_tree_beside(kernel.file, kernel.release).value_or(fs::path{});
}

void add_modules(RootImage& image, const fs::path& tree, const KernelImage& kernel, const GuestRoot& root,
                 const fs::path& scratch) {
    if (tree.empty()) return;
    auto names = root.modules;
    names.insert(names.end(), root.modules_on_demand.begin(), root.modules_on_demand.end());
    copy_modules(tree, kernel.release, names, scratch / "modules");
    image.add_as(scratch / "modules/lib/modules", "/lib/modules");
}

// A program that the host has not is missing in the guest as it would be here: a SKIP says so.
RootImage make_root_image(const GuestRoot& root, const BootOptions& options, const GuestTask& task,
                          const GuestJob& job) {
    RootImage image;
    image.add_program(running_program(), guest_program);
    for (const auto& name : root.programs)
        if (const auto program = find_tool(name)) image.add(*program);
    for (const auto& file : root.files)
        if (fs::exists(file)) image.add(file);
    for (const auto& file : options.extra) image.add(fs::absolute(file));
    for (const auto& file : task.inputs) image.add(fs::absolute(file));
    image.add_text(guest_job_file, job.to_text());
    return image;
}

GuestJob make_job(const KernelImage& kernel, const GuestRoot& root, const GuestTask& task, const fs::path& share) {
    const bool user_mode = kernel.kind == KernelKind::user_mode;
    return {.arguments = task.arguments,
            .share_type = user_mode ? "hostfs" : "9p",
            .share_options = user_mode ? share.string() : "trans=virtio,version=9p2000.L,msize=262144",
            .share_source = share_tag,
            .modules = root.modules,
            .restart_to_end = !user_mode};
}

void keep(const fs::path& file, const fs::path& place) {
    std::error_code error;
    if (!place.empty() && fs::exists(file)) fs::copy_file(file, place, fs::copy_options::overwrite_existing, error);
    if (error) throw Failure(fmt::format("{}: cannot be written: {}", place.string(), error.message()));
}

}  // namespace

fs::path guest_results() { return fs::path{guest_share} / share::results; }

GuestOutcome boot(const BootOptions& options, const GuestTask& task, const fs::path& results,
                  const GuestWatcher& watcher) {
    const auto kernel = read_kernel_image(options.kernel);
    const auto modules = find_modules(options, kernel);
    const auto root = load_guest_root();
    const TemporaryDirectory scratch;
    const GuestFiles files{.root_image = scratch.path() / "root.cpio",
                           .share = scratch.path() / "share",
                           .console = scratch.path() / "console.log"};
    fs::create_directory(files.share);
    auto image = make_root_image(root, options, task, make_job(kernel, root, task, files.share));
    add_modules(image, modules, kernel, root, scratch.path());
    image.write(files.root_image);

    const auto command = command_for(kernel, options.machine, !options.emulated(), files);
    auto outcome = run_machine(command, files, options.patience, watcher);
    keep(files.console, options.console);
    keep(files.share / share::results, results);
    return outcome;
}

}  // namespace holdfast
