#include "cases/stale_data/shared/readers.h"

#include <chrono>
#include <utility>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include "fixtures/base/failure.h"
#include "fixtures/probe/features.h"
#include "fixtures/probe/kernel_version.h"

namespace holdfast {

using std::chrono::milliseconds;

bool fault_stops_process(const std::filesystem::path& folder) {
    struct statfs status {};
    checked(::statfs(folder.c_str(), &status), "statfs of " + folder.string());
    return status.f_type == XFS_SUPER_MAGIC && KernelVersion::running() < KernelVersion{6, 4, 0};
}

Readers::Readers(std::filesystem::path path, const FileContent& content, Range range, Shrinking shrinking)
    : path_(std::move(path)), content_(content), range_(range) {
    always_ = {reading(Reading::buffered), reading(Reading::direct)};
    if (shrinking == Shrinking::no && !fault_stops_process(path_.parent_path()))
        always_.push_back(reading(Reading::mapped));
    in_turn_ = {reading(Reading::spliced),
                [this](Findings& findings) { return judged_seek(path_, content_, findings); },
                [this](Findings& findings) { return judged_map(path_, content_, findings); }};
    if (!find_missing_feature("io_uring")) in_turn_.push_back(reading(Reading::ring));
    if (can_read_uncached(File::open(path_, O_RDONLY))) in_turn_.push_back(reading(Reading::uncached));
}

Readers::Look Readers::reading(Reading reading) const {
    return [this, reading](Findings& findings) {
        Reader reader{path_, reading};
        return judged_read(reader, content_, range_, Writers::some, findings);
    };
}

void Readers::start(Look look) {
    ++started_;
    threads_.emplace_back([this, look = std::move(look)] {
        Findings findings;
        std::exception_ptr error;
        try {
            if (look(findings)) ++in_window_;
        } catch (...) {
            error = std::current_exception();
        }
        const std::lock_guard lock{mutex_};
        findings_.merge(findings);
        if (error) error_ = error;
        ++done_;
    });
}

void Readers::look() {
    constexpr milliseconds patience{10};
    const auto waiting_before = started_ - done_;
    for (const auto& look : always_) start(look);
    start(in_turn_[turn_++ % in_turn_.size()]);
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (started_ - done_ > waiting_before && std::chrono::steady_clock::now() < deadline)
        std::this_thread::sleep_for(milliseconds{1});
}

void Readers::finish(Findings& findings) {
    threads_.clear();
    if (error_) std::rethrow_exception(error_);
    findings.merge(findings_);
}

}  // namespace holdfast
