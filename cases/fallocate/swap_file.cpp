// Calls every mode on a file that is swapped to.
// Contract: ETXTBSY as long as it is, whatever the mode; nothing changes; afterwards it is a file like any other.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/swap.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases/case.h"
#include "cases/experiment.h"
#include "cases/fallocate/shared/mode.h"
#include "cases/fallocate/shared/scene.h"
#include "fixtures/base/descriptor.h"
#include "fixtures/base/failure.h"

namespace holdfast::cases {

using namespace holdfast::fallocate;

namespace {

constexpr std::size_t pages = 16;

/// As mkswap(8) makes it: version 1, and the number of the last page. The kernel reads no more of it.
std::vector<std::byte> swap_area(std::size_t page) {
    struct Header {
        std::uint32_t version;
        std::uint32_t last_page;
    };
    constexpr std::size_t header_at = 1024;
    constexpr std::string_view signature = "SWAPSPACE2";
    std::vector<std::byte> area(pages * page);
    const Header header{.version = 1, .last_page = pages - 1};
    std::memcpy(area.data() + header_at, &header, sizeof(header));
    std::memcpy(area.data() + page - signature.size(), signature.data(), signature.size());
    return area;
}

/// Swaps to a file while it lives. A process of its own does it, which takes the file back from the kernel however this one
/// ends: a swap file would outlive it. Plain fork(2): it has the parent's mount namespace, and makes four system calls.
class SwapFile {
 public:
    explicit SwapFile(const std::filesystem::path& path) {
        std::array<int, 2> command{};
        std::array<int, 2> reply{};
        checked(::pipe2(command.data(), O_CLOEXEC), "making a pipe");
        checked(::pipe2(reply.data(), O_CLOEXEC), "making a pipe");
        const Descriptor command_end(command[0]);
        const Descriptor reply_end(reply[1]);
        until_closed_ = Descriptor(command[1]);
        const Descriptor answers(reply[0]);
        child_ = checked(::fork(), "fork");
        if (child_ == 0) {
            until_closed_.reset();
            serve(path, command_end.get(), reply_end.get());
        }
        if (::read(answers.get(), &error_, sizeof(error_)) != sizeof(error_)) error_ = EIO;
    }
    SwapFile(const SwapFile&) = delete;
    SwapFile& operator=(const SwapFile&) = delete;
    ~SwapFile() {
        until_closed_.reset();
        while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
    /// 0, or why the kernel does not swap to the file.
    [[nodiscard]] int error() const { return error_; }

 private:
    [[noreturn]] static void serve(const std::filesystem::path& path, int command, int reply) {
        ::setsid();  // whoever kills the case kills its process group
        const int error = ::swapon(path.c_str(), 0) == 0 ? 0 : errno;
        char nothing = 0;
        if (::write(reply, &error, sizeof(error)) == sizeof(error)) (void)!::read(command, &nothing, 1);
        if (error == 0) ::swapoff(path.c_str());
        ::_exit(0);
    }

    Descriptor until_closed_;
    pid_t child_ = -1;
    int error_ = 0;
};

void run(Experiment& experiment) {
    const auto path = experiment.filesystem().root() / "swap";
    const File file = File::create(path);
    // btrfs does not swap to files that it copies on write; others do not know the attribute.
    int attributes = FS_NOCOW_FL;
    (void)::ioctl(file.descriptor(), FS_IOC_SETFLAGS, &attributes);
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const auto area = swap_area(page);
    file.write_at(0, area);
    file.sync();
    // What the kernel or the filesystem does not know at all may be refused for that.
    const auto known = supported_modes(experiment.filesystem().root(), allocation_units(experiment.filesystem()).step);
    const auto is_known = [&](const Mode& mode) { return std::ranges::count(known, mode.name, &Mode::name) > 0; };
    std::string outcome;
    {
        const SwapFile swap(path);
        if (swap.error() != 0) experiment.skip(fmt::format("swapon of a file answers {}", error_name(swap.error())));
        for (const Mode& mode : all_modes()) {
            const std::string answer = outcome_of(file.fallocate(mode.flags, page, page));
            if (answer == "EOPNOTSUPP" && !is_known(mode)) continue;
            if (outcome.empty()) outcome = answer;
            if (answer != outcome) outcome += fmt::format(", {} ({})", answer, mode.name);
        }
    }
    experiment.observe("while it is swapped to", outcome);
    std::vector<std::byte> content(area.size());
    const bool whole = file.size() == area.size() && file.read_at(0, content) == area.size();
    // The kernel may have swapped pages out to it, but not over its first page.
    const bool same = whole && std::ranges::equal(std::span(content).first(page), std::span(area).first(page));
    experiment.observe("file afterwards", same ? "unchanged" : "changed", describe_file(file));
    experiment.observe("PUNCH_HOLE afterwards",
                       outcome_of(file.fallocate(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, page, page)));
}

}  // namespace

extern const Case fallocate_swap_file;
const Case fallocate_swap_file{
    .name = "fallocate.swap_file",
    .summary = "calls fallocate in every mode on a file that is swapped to",
    .method =
        "A file of 16 pages becomes swap space for a moment, by a process that takes it back whatever happens to the "
        "case. Every mode must be refused with ETXTBSY and change nothing.",
    .needs = {},
    .run = run,
};

}  // namespace holdfast::cases
