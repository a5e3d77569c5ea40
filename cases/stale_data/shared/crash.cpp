#include "cases/stale_data/shared/crash.h"

#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <set>

#include <fcntl.h>
#include <fmt/format.h>
#include <libaio.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <sys/uio.h>

#include "cases/stale_data/shared/judged_read.h"
#include "fixtures/base/failure.h"
#include "fixtures/io/ageing.h"
#include "fixtures/io/reader.h"
#include "fixtures/io/warm_up.h"

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

}  // namespace

CrashTest::WrittenFile::WrittenFile(CrashTest& test, std::uint32_t number)
    : test_(test),
      number_(number),
      name_(fmt::format("file-{}", number)),
      buffered_(File::create(test.experiment_.filesystem().root() / name_)),
      direct_(File::open(test.experiment_.filesystem().root() / name_, O_RDWR | O_DIRECT)) {
    buffered_.sync_filesystem();
}

void CrashTest::WrittenFile::note(const Event& event) {
    const std::scoped_lock lock{mutex_};
    events_.push_back(event);
    events_.back().at = test_.log_length();
}

void CrashTest::WrittenFile::note(Event::Kind kind, Range range, std::uint32_t generation) {
    note({.kind = kind, .range = range, .generation = generation});
}

std::size_t CrashTest::WrittenFile::asked_so_far() const {
    const std::scoped_lock lock{mutex_};
    return events_.size();
}

void CrashTest::WrittenFile::promise(std::size_t covers) { note({.kind = Event::Kind::promise, .covers = covers}); }

void CrashTest::WrittenFile::write(const File& file, Range range) {
    AlignedBuffer bytes{range.length()};
    fill_data(bytes.bytes(), {number_, ++generation_}, range.begin);
    note(Event::Kind::write, range, generation_);
    file.write_at(range.begin, bytes.bytes());
    size_ = std::max(size_, range.end);
}

void CrashTest::WrittenFile::write_direct(Range range) { write(direct_, range); }
bool CrashTest::WrittenFile::write_direct_if_space(Range range) {
    try {
        write_direct(range);
    } catch (const SystemFailure& failure) {
        if (failure.error() != ENOSPC) throw;
        return false;
    }
    return true;
}

void CrashTest::WrittenFile::write_buffered(Range range) { write(buffered_, range); }

// What the filesystem refuses was never asked for.
bool CrashTest::WrittenFile::fallocate(int mode, Range range) {
    const auto size = (mode & FALLOC_FL_KEEP_SIZE) == 0 ? std::max(size_, range.end) : size_;
    note(Event::Kind::resize, {0, size});
    return done(buffered_.fallocate(mode, range.begin, range.length()), size);
}

bool CrashTest::WrittenFile::done(int error, std::uint64_t size) {
    if (error != 0 && error != EOPNOTSUPP) throw SystemFailure("changing " + name_, error);
    if (error == 0) size_ = size;
    if (error != 0) events_.pop_back();
    return error == 0;
}

bool CrashTest::WrittenFile::collapse(Range range) {
    note(Event::Kind::collapse, range);
    const int error = buffered_.fallocate(FALLOC_FL_COLLAPSE_RANGE, range.begin, range.length());
    return done(error, size_ - range.length());
}

bool CrashTest::WrittenFile::insert(Range range) {
    note(Event::Kind::insert, range);
    const int error = buffered_.fallocate(FALLOC_FL_INSERT_RANGE, range.begin, range.length());
    return done(error, size_ + range.length());
}

bool CrashTest::WrittenFile::clone(const WrittenFile& source) {
    note({.kind = Event::Kind::clone, .source = &source});
    const int error = ::ioctl(buffered_.descriptor(), FICLONE, source.buffered_.descriptor()) == 0 ? 0 : errno;
    return done(error == ENOTTY ? EOPNOTSUPP : error, source.size_);
}

void CrashTest::WrittenFile::rename_over(WrittenFile& replaced) {
    const auto& root = test_.experiment_.filesystem().root();
    replaced.replaced_ = Replacement{this, test_.log_length(), std::numeric_limits<std::uint64_t>::max()};
    has_name_ = false;
    std::filesystem::rename(root / name_, root / replaced.name_);
    File::open(root, O_RDONLY | O_DIRECTORY).sync();
    replaced.replaced_->promised = test_.log_length();
}

bool CrashTest::WrittenFile::allocate(int mode, Range range) { return fallocate(mode, range); }

bool CrashTest::WrittenFile::zero(int mode, Range range) {
    note(Event::Kind::zero, range);
    const bool done = fallocate(mode, range);
    if (!done) events_.pop_back();
    return done;
}

void CrashTest::WrittenFile::write_dsync(Range range) { write_synchronously(direct_, range, RWF_DSYNC); }
void CrashTest::WrittenFile::write_buffered_dsync(Range range) { write_synchronously(buffered_, range, RWF_DSYNC); }
void CrashTest::WrittenFile::write_o_sync(Range range) {
    write_synchronously(File::open(test_.experiment_.filesystem().root() / name_, O_RDWR | O_SYNC), range, 0);
}

void CrashTest::WrittenFile::write_synchronously(const File& file, Range range, int flags) {
    AlignedBuffer bytes{range.length()};
    fill_data(bytes.bytes(), {number_, ++generation_}, range.begin);
    note(Event::Kind::write, range, generation_);
    const iovec vector{bytes.bytes().data(), bytes.size()};
    const auto written = checked(::pwritev2(file.descriptor(), &vector, 1, static_cast<off_t>(range.begin), flags),
                                 "a synchronous write to " + name_);
    if (static_cast<std::uint64_t>(written) != range.length()) throw Failure("a short synchronous write to " + name_);
    size_ = std::max(size_, range.end);
    promise(asked_so_far());
}

void CrashTest::WrittenFile::truncate(std::uint64_t size) {
    size_ = size;
    note(Event::Kind::resize, {0, size});
    buffered_.truncate(size);
}

void CrashTest::WrittenFile::fsync() {
    const auto covers = asked_so_far();
    buffered_.sync();
    promise(covers);
}

bool CrashTest::WrittenFile::allocate_synchronously(int mode, Range range) {
    const auto file = File::open(test_.experiment_.filesystem().root() / name_, O_RDWR | O_SYNC);
    const auto size = (mode & FALLOC_FL_KEEP_SIZE) == 0 ? std::max(size_, range.end) : size_;
    note(Event::Kind::resize, {0, size});
    if (!done(file.fallocate(mode, range.begin, range.length()), size)) return false;
    promise(asked_so_far());
    return true;
}

void CrashTest::WrittenFile::aio_fdsync() {
    io_context_t context = nullptr;
    if (const int error = ::io_setup(1, &context); error < 0) throw SystemFailure("io_setup", -error);
    iocb request{};
    ::io_prep_fdsync(&request, buffered_.descriptor());
    std::array requests{&request};
    io_event event{};
    const int taken = ::io_submit(context, 1, requests.data());
    if (taken == 1) ::io_getevents(context, 1, 1, &event, nullptr);
    ::io_destroy(context);
    if (taken != 1) throw SystemFailure("io_submit of an fdatasync of " + name_, taken < 0 ? -taken : EAGAIN);
    if (const auto result = static_cast<long>(event.res); result != 0)
        throw SystemFailure("an asynchronous fdatasync of " + name_, static_cast<int>(-result));
    promise(asked_so_far());
}

void CrashTest::WrittenFile::syncfs() {
    const auto covers = asked_so_far();
    buffered_.sync_filesystem();
    promise(covers);
}

void CrashTest::WrittenFile::fdatasync() {
    const auto covers = asked_so_far();
    buffered_.datasync();
    promise(covers);
}

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

// What the last promise covers has happened; of what was asked for besides, any part may have.
CrashModel CrashTest::model(const WrittenFile& file, std::uint64_t cut) const {
    using Kind = WrittenFile::Event::Kind;
    std::size_t promised = 0;
    for (const auto& event : file.events_)
        if (event.kind == Kind::promise && event.at <= cut) promised = std::max(promised, event.covers);
    CrashModel result{file.number_};
    for (std::size_t i = 0; i < file.events_.size(); ++i) {
        if (i == promised && promised > 0) result.promise();
        const auto& event = file.events_[i];
        if (event.at > cut) break;
        if (event.kind == Kind::write) result.may_write(event.range, event.generation);
        if (event.kind == Kind::zero) result.may_zero(event.range);
        if (event.kind == Kind::resize) result.may_resize(event.range.end);
        if (event.kind == Kind::collapse) result.may_collapse(event.range);
        if (event.kind == Kind::insert) result.may_insert(event.range);
        if (event.kind == Kind::clone) result.may_become(model(*event.source, event.at));
    }
    return result;
}

void CrashTest::judge_file(const std::filesystem::path& root, const WrittenFile& file, std::uint64_t cut,
                           std::string_view state) {
    if (!std::filesystem::exists(root / file.name_)) {
        findings_.add_lost(fmt::format("file {} is gone; {}", file.number_, state));
        return;
    }
    Reader reader{root / file.name_, Reading::direct};
    std::vector<std::byte> content(reader.size());
    content.resize(reader.read(0, content));
    const auto judge_as = [&](const WrittenFile& written) {
        Findings findings;
        model(written, cut).judge(content, reader.size(), state, findings);
        return findings;
    };
    // A rename that has begun leaves one of the two; one that was promised, the new one.
    const auto& replaced = file.replaced_;
    const bool may_be_old = !replaced || cut <= replaced->promised;
    auto findings = judge_as(may_be_old ? file : *replaced->by);
    if (may_be_old && replaced && cut >= replaced->asked && !findings.none())
        if (const auto as_new = judge_as(*replaced->by); as_new.none()) findings = as_new;
    findings_.merge(findings);
}

// What recovery left behind the end of file must not show when the file grows.
void CrashTest::judge_behind(const std::filesystem::path& path, std::string_view state) {
    constexpr auto by = 64 * KiB;
    if (!std::filesystem::exists(path)) return;
    const auto file = File::open(path, O_RDWR);
    const auto size = file.size();
    file.truncate(size + by);
    std::vector<std::byte> bytes(by);
    bytes.resize(file.read_at(size, bytes));
    const auto shown = std::ranges::find_if(bytes, [](auto byte) { return byte != std::byte{0}; });
    if (shown == bytes.end()) return;
    const auto offset = size + static_cast<std::uint64_t>(shown - bytes.begin());
    findings_.add_stale(
        fmt::format("{} shows bytes that are not zero from offset {} on once it has grown from {} bytes; {}",
                    path.filename().string(), offset, size, state));
}

void CrashTest::judge(std::span<const std::uint64_t> keep, std::uint64_t cut) {
    // The same state, promised by then or not: what was promised later is judged as well.
    if (!tried_.insert({cut, {keep.begin(), keep.end()}}).second) return;
    ++states_;
    const auto state = fmt::format("power cut after write {} of {}, {} of them kept", cut - begin_,
                                   log_length() - begin_, keep.size());
    try {
        DisposableFilesystem crashed{experiment_.recipe(), disk_.crash_state(keep)};
        for (const auto& file : files_)
            if (file.has_name_) judge_file(crashed.root(), file, cut, state);
        for (const auto& file : files_)
            if (file.has_name_) judge_behind(crashed.root() / file.name_, state);
        // Most of a state's time is the checker's, and damage seldom comes alone.
        constexpr std::uint64_t checked_one_in = 3;
        if (states_ % checked_one_in != 0) return;
        if (const auto report = crashed.finish(); report.damaged)
            damaged_.push_back(fmt::format("{}: {}: {}", state, report.command, report.output));
    } catch (const Failure& failure) {
        unmountable_.push_back(fmt::format("{}: {}", state, failure.what()));
    }
}

std::vector<std::uint64_t> CrashTest::promises() const {
    std::set<std::uint64_t> moments;
    for (const auto& file : files_)
        for (const auto& event : file.events_)
            if (event.kind == WrittenFile::Event::Kind::promise && event.at >= begin_) moments.insert(event.at);
    return {moments.begin(), moments.end()};
}

void CrashTest::cut_power() {
    const auto log = disk_.served().log();
    const auto end = static_cast<std::uint64_t>(log.size());
    const auto certain_at = [&](std::uint64_t cut) {
        return durable({log.begin(), log.begin() + static_cast<std::ptrdiff_t>(cut)});
    };
    std::vector<std::uint64_t> cuts;
    for (auto cut = begin_; cut <= end; ++cut) cuts.push_back(cut);

    for (const auto cut : spread(cuts, whole_states)) {
        std::vector<std::uint64_t> keep(cut);
        std::ranges::generate(keep, [next = std::uint64_t{0}]() mutable { return next++; });
        judge(keep, cut);
    }
    for (const auto cut : spread(promises(), bare_promises)) judge(certain_at(cut), cut);
    std::vector<std::uint64_t> after_writes;
    for (const auto cut : cuts)
        if (cut > begin_ && log[cut - 1].kind != LogEntry::Kind::flush) after_writes.push_back(cut);
    for (const auto cut : spread(after_writes, last_alone_states)) {
        auto keep = certain_at(cut);
        if (keep.empty() || keep.back() != cut - 1) keep.push_back(cut - 1);
        judge(keep, cut);
    }
    std::mt19937_64 random{experiment_.seed()};
    for (std::size_t i = 0; i < random_states; ++i) {
        const auto cut = begin_ + random() % (end - begin_ + 1);
        const auto certain = certain_at(cut);
        std::vector<std::uint64_t> keep;
        for (std::uint64_t sequence = 0; sequence < cut; ++sequence)
            if (std::ranges::binary_search(certain, sequence) || random() % 2 == 0) keep.push_back(sequence);
        judge(keep, cut);
    }
    auto evidence = nlohmann::json{{"states", states_}, {"log", end - begin_}};
    observe_findings(experiment_, findings_, evidence);
    const auto observe = [&](const char* name, const std::vector<std::string>& states) {
        evidence["first"] = states.empty() ? std::string{} : states.front();
        experiment_.observe({.name = name, .value = states.size(), .unit = "states", .evidence = evidence});
    };
    observe("unmountable", unmountable_);
    observe("damaged", damaged_);
}

}  // namespace holdfast
