#include "harness/boot/temporary_directory.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "fixtures/base/failure.h"

namespace holdfast {

TemporaryDirectory::TemporaryDirectory() {
    auto name = (std::filesystem::temp_directory_path() / "holdfast-boot-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw SystemFailure(fmt::format("making a directory {}", name), errno);
    path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
    if (error) std::fprintf(stderr, "%s: cannot be removed: %s\n", path_.c_str(), error.message().c_str());
}

}  // namespace holdfast
