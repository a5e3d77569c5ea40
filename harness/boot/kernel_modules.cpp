#include "harness/boot/kernel_modules.h"

#include <set>
#include <sstream>

#include <fmt/format.h>

#include "fixtures/base/child_process.h"
#include "fixtures/base/failure.h"
#include "harness/boot/temporary_directory.h"

namespace holdfast {
namespace {

namespace fs = std::filesystem;

// What depmod wants beside the modules themselves, in every module tree.
constexpr const char* lists_of_build[] = {"modules.order", "modules.builtin", "modules.builtin.modinfo"};

bool is_module_tree(const fs::path& directory) {
    return fs::is_directory(directory / "kernel") || fs::exists(directory / "modules.builtin");
}

std::optional<fs::path> find_below(const fs::path& root, const std::string& release) {
    for (const auto* place : {"lib/modules", "usr/lib/modules"})
        if (auto tree = root / place / release; is_module_tree(tree)) return tree;
    return std::nullopt;
}

void copy_lists(const fs::path& tree, const fs::path& destination) {
    for (const auto* list : lists_of_build)
        if (fs::exists(tree / list)) fs::copy_file(tree / list, destination / list);
}

void index_modules(const fs::path& root, const std::string& release) {
    const auto run = run_tool("depmod", {"-b", root.string(), release});
    if (!run.ending.success()) throw Failure(fmt::format("depmod of {}: {}", root.string(), run.output));
}

// "insmod /path/to/it.ko", one a line, in the order in which they must be loaded; a built-in one says "builtin NAME".
std::vector<fs::path> files_to_load(const std::string& name, const fs::path& root, const std::string& release) {
    const auto run = run_tool("modprobe", {"-d", root.string(), "-S", release, "--show-depends", name});
    if (!run.ending.success()) return {};  // there is no such module; the kernel may do without
    std::vector<fs::path> files;
    std::istringstream lines{run.output};
    std::string word;
    while (lines >> word)
        if (word == "insmod" && lines >> word) files.emplace_back(word);
    return files;
}

}  // namespace

fs::path find_module_tree(const fs::path& given, const std::string& release) {
    if (given.filename() == release || (given.filename().empty() && given.parent_path().filename() == release))
        if (is_module_tree(given)) return given;
    if (auto tree = find_below(given, release)) return *std::move(tree);
    throw BadInput(fmt::format("{}: no modules of kernel {} there: neither lib/modules/{} nor that directory itself",
                               given.string(), release, release));
}

std::optional<fs::path> find_module_tree_beside(const fs::path& image, const std::string& release) {
    const auto directory = fs::absolute(image).parent_path();
    return directory.filename() == "boot" ? find_below(directory.parent_path(), release) : std::nullopt;
}

void copy_modules(const fs::path& tree, const std::string& release, const std::vector<std::string>& names,
                  const fs::path& destination) {
    // Indexes are made anew, in a tree of our own whose files are those of the other one.
    const TemporaryDirectory indexed;
    const auto inside = indexed.path() / "lib/modules" / release;
    fs::create_directories(inside);
    fs::create_directory_symlink(fs::canonical(tree) / "kernel", inside / "kernel");
    copy_lists(tree, inside);
    index_modules(indexed.path(), release);

    const auto ours = destination / "lib/modules" / release;
    fs::create_directories(ours);
    copy_lists(tree, ours);
    std::set<fs::path> wanted;
    for (const auto& name : names)
        for (const auto& file : files_to_load(name, indexed.path(), release)) wanted.insert(file);
    for (const auto& file : wanted) {
        const auto copy = ours / file.lexically_relative(inside);
        fs::create_directories(copy.parent_path());
        fs::copy_file(file, copy);
    }
    index_modules(destination, release);
}

}  // namespace holdfast
