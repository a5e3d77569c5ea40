#include "cases/stale_data/shared/crash.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <set>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>

#include "cases/stale_data/shared/judged_read.h"
#include "fixtures/base/failure.h"
#include "fixtures/io/ageing.h"
#include "fixtures/io/reader.h"
#include "fixtures/io/warm_up.h"
#include "fixtures/pattern/sector.h"

namespace holdfast {
namespace {

// How many states of each kind at most: what was written in order; what was promised, and no more; what no flush covers
// lost but for the last write; a random part lost.
constexpr std::size_t whole_states = 8;
constexpr std::size_t bare_promises = 6;
constexpr std::size_t last_alone_states = 6;
constexpr std::size_t random_states = 4;

// `count` of these, spread evenly, the first and the last among them.
std::vector<std::uint64_t> spread(const std::vector<std::uint64_t>& from, std::size_t count) {
    if (from.size() <= count) return from;
    std::vector<std::uint64_t> some;
    for (std::size_t i = 0; i < count; ++i) some.push_back(from[(from.size() - 1) * i / (count - 1)]);
    return some;
}

// What cannot be told, because the filesystem is damaged, is told by whoever opens the file.
bool is_gone(const std::filesystem::path& path) {
    std::error_code error;
    return !std::filesystem::exists(path, error) && (!error || error == std::errc::no_such_file_or_directory);
}

}  // namespace

CrashTest::CrashTest(Experiment& experiment) : experiment_(experiment), disk_(*experiment.held_disk()) {
    const auto root = experiment.filesystem().root();
    age(root, 4 * MiB, experiment.seed());
    warm_up(root);
    begin_ = log_length();
}

CrashTest::WrittenFile& CrashTest::create() {
    files_.emplace_back(*this, static_cast<std::uint32_t>(files_.size() + 1));
    begin_ = log_length();
    return files_.back();
}

std::uint64_t CrashTest::free_space() const {
    struct statvfs status {};
    const auto root = experiment_.filesystem().root();
    checked(::statvfs(root.c_str(), &status), "statvfs of " + root.string());
    return std::uint64_t{status.f_bavail} * status.f_frsize;
}

void CrashTest::fill_up(std::uint64_t left) {
    const auto ballast = File::create(experiment_.filesystem().root() / "ballast");
    if (const auto space = free_space(); space > left)
        if (const int error = ballast.fallocate(0, 0, space - left); error != 0 && error != EOPNOTSUPP)
            throw SystemFailure("fallocate of " + ballast.path().string(), error);
    ballast.sync_filesystem();
    begin_ = log_length();
}

void CrashTest::make_and_remove_directories() {
    constexpr int directories = 8;
    constexpr int names = 300;
    const auto root = experiment_.filesystem().root();
    const auto named = File::create(root / "named");
    for (int i = 0; i < directories; ++i) {
        const auto directory = root / fmt::format("directory-{}", i);
        std::filesystem::create_directory(directory);
        for (int k = 0; k < names; ++k)
            std::filesystem::create_hard_link(named.path(), directory / fmt::format("a-rather-long-name-{:030}", k));
    }
    named.sync_filesystem();
    for (int i = 0; i < directories; ++i) std::filesystem::remove_all(root / fmt::format("directory-{}", i));
    // Freed blocks may be used again only once their deletion has been committed.
    named.sync_filesystem();
}

void CrashTest::sync_filesystem() { files_.front().buffered_.sync_filesystem(); }

std::uint64_t CrashTest::log_length() const { return disk_.served().log_length(); }

// What the last promise covers has happened; of what was asked for besides, any part may have. But a file that is larger
// than it ever was before it was cut short has been cut short: the sizes of a file are committed in their order.
CrashModel CrashTest::model(const WrittenFile& file, std::uint64_t cut, std::uint64_t size, std::size_t calls) {
    using Kind = WrittenFile::Event::Kind;
    const auto count = std::min(calls, file.events_.size());
    std::size_t promised = 0;
    for (std::size_t i = 0; i < count; ++i)
        if (const auto& event = file.events_[i]; event.kind == Kind::promise && event.at <= cut)
            promised = std::max(promised, event.covers);
    CrashModel result{file.number_};
    for (std::size_t i = 0; i < count; ++i) {
        if (i == promised && promised > 0) result.promise();
        const auto& event = file.events_[i];
        if (event.at > cut) break;
        if (event.kind == Kind::resize && event.alone && size > result.largest())
            result.did_resize(event.range.end);
        else
            event.may_happen(result);
    }
    return result;
}

void CrashTest::WrittenFile::Event::may_happen(CrashModel& model) const {
    switch (kind) {
        case Kind::write:
            return model.may_write(range, generation);
        case Kind::zero:
            return model.may_zero(range);
        case Kind::resize:
            return model.may_resize(range.end);
        case Kind::collapse:
            return model.may_collapse(range);
        case Kind::insert:
            return model.may_insert(range);
        case Kind::clone:
            return model.may_become(CrashTest::model(*source, at, 0, source_calls));
        case Kind::copy:
            return model.may_copy(CrashTest::model(*source, at, 0, source_calls), range, to);
        case Kind::found:
            return model.found(content);
        case Kind::promise:
            return;
    }
}

void CrashTest::judge_file(const std::filesystem::path& root, const WrittenFile& file, std::uint64_t cut,
                           std::string_view state) {
    if (is_gone(root / file.name_)) {
        findings_.add_lost(fmt::format("file {} is gone; {}", file.number_, state));
        return;
    }
    Reader reader{root / file.name_, Reading::direct};
    std::vector<std::byte> content(reader.size());
    content.resize(reader.read(0, content));
    const auto judge_as = [&](const WrittenFile& written) {
        Findings findings;
        model(written, cut, reader.size()).judge(content, reader.size(), state, findings);
        return findings;
    };
    judge_whole_writes(content, file, cut, state);
    // A rename that has begun leaves one of the two; one that was promised, the new one.
    const auto& replaced = file.replaced_;
    const bool may_be_old = !replaced || cut <= replaced->promised;
    auto findings = judge_as(may_be_old ? file : *replaced->by);
    if (may_be_old && replaced && cut >= replaced->asked && !findings.none())
        if (const auto as_new = judge_as(*replaced->by); as_new.none() || as_new.stale() < findings.stale())
            findings = as_new;
    findings_.merge(findings);
}

// Of a write that a later one may have covered in part, nothing can be told.
void CrashTest::judge_whole_writes(std::span<const std::byte> content, const WrittenFile& file, std::uint64_t cut,
                                   std::string_view state) {
    const auto sectors_of = [&](const WrittenFile::Event& event, Range range) {
        std::uint64_t count = 0;
        for (auto at = range.begin; at < std::min<std::uint64_t>(range.end, content.size()); at += sector_size)
            count += is_data(content.subspan(at, sector_size), {file.number_, event.generation}, at) ? 1U : 0U;
        return count;
    };
    for (std::size_t i = 0; i < file.events_.size(); ++i) {
        const auto& event = file.events_[i];
        if (!event.whole || event.at > cut) continue;
        const auto there = sectors_of(event, event.range);
        const bool covered = std::any_of(
            file.events_.begin() + static_cast<std::ptrdiff_t>(i) + 1, file.events_.end(), [&](const auto& later) {
                return later.kind == WrittenFile::Event::Kind::write && overlap(later.range, event.range) &&
                       sectors_of(later, intersection(later.range, event.range)) > 0;
            });
        if (covered || there == 0 || there * sector_size == event.range.length()) continue;
        torn_.push_back(fmt::format("{} of {} bytes at offset {} of file {} are there; {}", there * sector_size,
                                    event.range.length(), event.range.begin, file.number_, state));
    }
}

// What recovery left behind the end of file must not show when the file grows; but what was written there last, and had
// not moved the end of file by then, may.
void CrashTest::judge_behind(const std::filesystem::path& root, const WrittenFile& file, std::uint64_t cut,
                             std::string_view state) {
    constexpr auto by = 64 * KiB;
    if (is_gone(root / file.name_)) return;
    const auto opened = File::open(root / file.name_, O_RDWR);
    const auto size = opened.size();
    opened.truncate(size + by);
    std::vector<std::byte> bytes(by);
    bytes.resize(opened.read_at(size, bytes));
    Findings findings;
    model(file, cut, size).judge_behind(bytes, size, state, findings);
    if (file.replaced_ && !findings.none()) {
        findings = {};
        model(*file.replaced_->by, cut, size).judge_behind(bytes, size, state, findings);
    }
    findings_.merge(findings);
}

void CrashTest::judge(std::span<const std::uint64_t> keep, std::uint64_t cut) {
    // The same state, promised by then or not: what was promised later is judged as well.
    if (!tried_.insert({cut, {keep.begin(), keep.end()}}).second) return;
    const auto state = fmt::format("power cut after write {} of {}, {} of them kept", cut - begin_,
                                   log_length() - begin_, keep.size());
    judge_disk(disk_.crash_state(keep), cut, state);
}

void CrashTest::judge_disk(std::unique_ptr<Disk> disk, std::uint64_t cut, const std::string& state) {
    ++states_;
    try {
        DisposableFilesystem crashed{experiment_.recipe(), std::move(disk)};
        for (const auto& file : files_)
            if (file.has_name_ && file.created_ <= cut) judge_file(crashed.root(), file, cut, state);
        for (const auto& file : files_)
            if (file.has_name_ && file.created_ <= cut) judge_behind(crashed.root(), file, cut, state);
        if (states_ % checked_one_in_ != 0) return;
        if (const auto report = crashed.finish(); report.damaged)
            damaged_.push_back(fmt::format("{}: {}: {}", state, report.command, report.output));
    } catch (const Failure& failure) {
        unmountable_.push_back(fmt::format("{}: {}", state, failure.what()));
    }
}

std::vector<std::uint64_t> CrashTest::promises() const {
    std::set<std::uint64_t> moments;
    for (const auto& file : files_) {
        const auto own = promises(file);
        moments.insert(own.begin(), own.end());
    }
    return {moments.begin(), moments.end()};
}

std::vector<std::uint64_t> CrashTest::promises(const WrittenFile& file) const {
    std::vector<std::uint64_t> moments;
    for (const auto& event : file.events_)
        if (event.kind == WrittenFile::Event::Kind::promise && event.at >= begin_) moments.push_back(event.at);
    return moments;
}

void CrashTest::cut_power_at(const WriteLog& log, std::uint64_t cut, Kept kept, std::mt19937_64& random) {
    judge(kept_of(log, cut, kept, random), cut);
}

void CrashTest::cut_power() {
    const auto start = std::chrono::steady_clock::now();
    std::mt19937_64 random{experiment_.seed()};
    cut_power_anywhere(disk_.served().log(), random);
    observe(start);
}

void CrashTest::cut_power_anywhere(const WriteLog& log, std::mt19937_64& random) {
    const auto end = static_cast<std::uint64_t>(log.size());
    std::vector<std::uint64_t> cuts;
    for (auto cut = begin_; cut <= end; ++cut) cuts.push_back(cut);
    std::vector<std::uint64_t> after_writes;
    for (const auto cut : cuts)
        if (cut > begin_ && log[cut - 1].kind != LogEntry::Kind::flush) after_writes.push_back(cut);

    for (const auto cut : spread(cuts, whole_states)) cut_power_at(log, cut, Kept::all, random);
    for (const auto cut : spread(promises(), bare_promises)) cut_power_at(log, cut, Kept::certain, random);
    for (const auto cut : spread(after_writes, last_alone_states)) cut_power_at(log, cut, Kept::last, random);
    for (std::size_t i = 0; i < random_states; ++i)
        cut_power_at(log, begin_ + random() % (end - begin_ + 1), Kept::random, random);
}

void CrashTest::cut_power_at_promises(std::size_t of_each_file) {
    // What was promised before the last file was created counts as well.
    begin_ = files_.front().created_;
    const auto log = disk_.served().log();
    std::mt19937_64 random{experiment_.seed()};
    const auto start = std::chrono::steady_clock::now();
    std::size_t first = 0;
    for (const auto& file : files_) {
        const auto moments = promises(file);
        const auto count = std::min(moments.size(), of_each_file);
        for (std::size_t i = 0; i < count; ++i)
            cut_power_at(log, moments[(first + i * moments.size() / count) % moments.size()], Kept::certain, random);
        ++first;
    }
    observe(start);
}

void CrashTest::cut_power_around(const std::function<bool(const LogEntry&)>& matters, std::size_t most) {
    const auto start = std::chrono::steady_clock::now();
    const auto log = disk_.served().log();
    std::mt19937_64 random{experiment_.seed()};
    std::vector<std::uint64_t> moments;
    for (auto at = begin_; at < log.size(); ++at)
        if (matters(log[at])) moments.push_back(at);
    for (const auto at : spread(moments, most))
        for (const auto cut : {at, at + 1})
            for (const auto kept : {Kept::certain, Kept::last, Kept::all, Kept::random})
                cut_power_at(log, cut, kept, random);
    cut_power_anywhere(log, random);
    observe(start);
    experiment_.observe({.name = "moments", .value = moments.size(), .unit = "writes"});
}

void CrashTest::observe(std::chrono::steady_clock::time_point start) const {
    std::set<std::vector<std::uint64_t>> disks;
    for (const auto& [cut, keep] : tried_) disks.insert(keep);
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
    auto evidence = nlohmann::json{{"states", states_},
                                   {"distinct_disks", disks.size()},
                                   {"ms_for_each", taken.count() / static_cast<double>(states_)},
                                   {"log", log_length() - begin_}};
    observe_findings(experiment_, findings_, evidence);
    const auto observe = [&](const char* name, const std::vector<std::string>& states) {
        evidence["first"] = states.empty() ? std::string{} : states.front();
        experiment_.observe({.name = name, .value = states.size(), .unit = "states", .evidence = evidence});
    };
    observe("unmountable", unmountable_);
    observe("damaged", damaged_);
}

}  // namespace holdfast
