#include "harness/supervise/kernel_log.h"

#include <array>
#include <charconv>
#include <fstream>
#include <regex>

#include <fcntl.h>
#include <unistd.h>

#include "fixtures/base/failure.h"

namespace holdfast {

KernelLog::KernelLog() : log_(::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
    if (log_.valid() && ::lseek(log_.get(), 0, SEEK_END) < 0) log_.reset();
}

std::vector<std::string> KernelLog::read_new(std::string_view device) {
    std::vector<std::string> lines;
    std::array<char, 16384> record{};
    while (log_.valid()) {
        const auto count = ::read(log_.get(), record.data(), record.size());
        if (count < 0 && (errno == EPIPE || errno == EINTR)) continue;  // records were overwritten: go on with the next
        if (count <= 0) break;
        auto text = kernel_record_text({record.data(), static_cast<std::size_t>(count)});
        if (!text.empty() && !names_another_loop(text, device)) lines.push_back(std::move(text));
    }
    return lines;
}

std::string kernel_record_text(std::string_view record) {
    unsigned priority = 0;
    std::from_chars(record.data(), record.data() + record.size(), priority);
    constexpr unsigned levels = 8;
    if (priority >= levels) return {};  // a facility other than the kernel's
    const auto begin = record.find(';');
    if (begin == std::string_view::npos) return {};
    return std::string{record.substr(begin + 1, record.find('\n') - begin - 1)};
}

bool is_alarm(std::string_view line) {
    static const std::regex alarm{
        R"(^WARNING: .*\bat |^BUG: |kernel BUG at|^Oops|general protection fault|Kernel panic|^(KASAN|UBSAN|KFENCE|KCSAN): |)"
        R"(INFO: task .* blocked for more than|rcu: INFO: .* detected|soft lockup|hard LOCKUP|)"
        R"(possible (circular|recursive) locking|suspicious RCU usage|inconsistent lock state|)"
        R"(EXT[234]-fs error|JBD2: .*(corrupt|[Aa]bort)|Aborting journal|)"
        R"(XFS.*(Corruption|corruption|Internal error|Assertion failed|log I/O error)|BTRFS (critical|error))"};
    return std::regex_search(line.begin(), line.end(), alarm);
}

bool names_another_loop(std::string_view line, std::string_view device) {
    if (device.empty()) return false;
    static const std::regex loop{R"(\bloop[0-9]+)"};
    bool another = false;
    using Matches = std::regex_iterator<std::string_view::const_iterator>;
    for (Matches found{line.begin(), line.end(), loop}; found != Matches{}; ++found) {
        if (found->str() == device) return false;
        another = true;
    }
    return another;
}

KernelTaint KernelTaint::now() {
    unsigned long bits = 0;
    std::ifstream file{"/proc/sys/kernel/tainted"};
    if (!(file >> bits)) throw Failure("reading /proc/sys/kernel/tainted");
    return KernelTaint{bits};
}

std::string KernelTaint::letters_since(const KernelTaint& before) const {
    constexpr std::string_view letters = "PFSRMBUDAWCIOELKXTNJ";
    std::string found;
    const auto fresh = bits_ & ~before.bits_;
    for (std::size_t bit = 0; bit < letters.size(); ++bit)
        if ((fresh >> bit & 1U) != 0) found += letters[bit];
    return found;
}

}  // namespace holdfast
