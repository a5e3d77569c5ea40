#include "cases/stale_data/shared/crash.h"

#include <algorithm>
#include <array>
#include <random>
#include <set>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/uio.h>

#include "cases/stale_data/shared/judged_read.h"
#include "fixtures/base/failure.h"
#include "fixtures/io/ageing.h"
#include "fixtures/io/reader.h"
#include "fixtures/io/warm_up.h"

namespace holdfast {
namespace {

// Cuts after a write of the log, and cuts with a random part lost.
constexpr std::size_t most_cuts = 10;
constexpr std::size_t random_states = 5;

std::uint64_t bit(std::uint32_t generation) { return std::uint64_t{1} << generation; }

// `count` of the numbers from `begin` to `end`, spread evenly, the first and the last among them.
std::set<std::uint64_t> spread(std::uint64_t begin, std::uint64_t end, std::size_t count) {
    std::set<std::uint64_t> numbers;
    for (std::size_t i = 0; i < count; ++i) numbers.insert(begin + (end - begin) * i / (count - 1));
    return numbers;
}

}  // namespace

void CrashModel::grow(std::uint64_t end) {
    if (const auto count = end / sector_size; sectors_.size() < count) sectors_.resize(count);
}

void CrashModel::may_write(Range range, std::uint32_t generation) {
    grow(range.end);
    for (auto at = range.begin / sector_size; at < range.end / sector_size; ++at) {
        sectors_[at].may |= bit(generation);
        sectors_[at].latest = generation;
    }
    size_ = std::max(size_, range.end);
    largest_ = std::max(largest_, size_);
}

void CrashModel::may_zero(Range range) {
    grow(range.end);
    for (auto at = range.begin / sector_size; at < range.end / sector_size; ++at) {
        sectors_[at].may |= bit(0);
        sectors_[at].latest = 0;
    }
}

void CrashModel::may_resize(std::uint64_t size) {
    grow(size);
    may_zero({size, sectors_.size() * sector_size});
    size_ = size;
    smallest_ = std::min(smallest_, size);
    largest_ = std::max(largest_, size);
}

void CrashModel::promise() {
    for (auto& sector : sectors_) sector.may = bit(sector.latest);
    smallest_ = largest_ = size_;
}

void CrashModel::judge(std::span<const std::byte> content, std::uint64_t size, std::string_view state,
                       Findings& findings) const {
    if (size < smallest_)
        findings.add_lost(
            fmt::format("file {} has {} bytes, where {} were promised; {}", file_, size, smallest_, state));
    if (size > largest_)
        findings.add_stale(
            fmt::format("file {} has {} bytes, and never had more than {}; {}", file_, size, largest_, state));
    for (std::uint64_t offset = 0; offset + sector_size <= content.size(); offset += sector_size)
        judge_sector(content.subspan(offset).first<sector_size>(), offset, state, findings);
}

void CrashModel::judge_sector(std::span<const std::byte, sector_size> bytes, std::uint64_t offset,
                              std::string_view state, Findings& findings) const {
    const auto index = offset / sector_size;
    const auto may = index < sectors_.size() ? sectors_[index].may : bit(0);
    for (std::uint32_t generation = 1; generation < 63; ++generation)
        if ((may & bit(generation)) != 0 && is_data(bytes, {file_, generation}, offset)) return;
    const auto identity = identify(bytes);
    const bool zeros = std::holds_alternative<Zeros>(identity);
    if (zeros && (may & bit(0)) != 0) return;
    auto sentence = fmt::format("offset {} of file {} shows {}", offset, file_, describe(identity));
    const auto* const data = std::get_if<Data>(&identity);
    // An older state of its own is a promise broken, not somebody else's data.
    const bool own = zeros || (data != nullptr && data->tag.file == file_ && data->offset == offset);
    if (own) sentence += ", where newer data was promised";
    sentence += fmt::format("; {}", state);
    if (own)
        findings.add_lost(std::move(sentence));
    else
        findings.add_stale(std::move(sentence));
}

CrashTest::WrittenFile::WrittenFile(CrashTest& test, std::uint32_t number)
    : test_(test),
      number_(number),
      name_(fmt::format("file-{}", number)),
      buffered_(File::create(test.experiment_.filesystem().root() / name_)),
      direct_(File::open(test.experiment_.filesystem().root() / name_, O_RDWR | O_DIRECT)) {
    buffered_.sync_filesystem();
}

void CrashTest::WrittenFile::note(Event::Kind kind, Range range, std::uint32_t generation) {
    events_.push_back({.at = test_.log_length(), .kind = kind, .range = range, .generation = generation});
}

void CrashTest::WrittenFile::write(const File& file, Range range) {
    AlignedBuffer bytes{range.length()};
    fill_data(bytes.bytes(), {number_, ++generation_}, range.begin);
    note(Event::Kind::write, range, generation_);
    file.write_at(range.begin, bytes.bytes());
    size_ = std::max(size_, range.end);
}

void CrashTest::WrittenFile::write_direct(Range range) { write(direct_, range); }
void CrashTest::WrittenFile::write_buffered(Range range) { write(buffered_, range); }

// What the filesystem refuses was never asked for.
bool CrashTest::WrittenFile::fallocate(int mode, Range range) {
    const auto size = (mode & FALLOC_FL_KEEP_SIZE) == 0 ? std::max(size_, range.end) : size_;
    note(Event::Kind::resize, {0, size});
    const int error = buffered_.fallocate(mode, range.begin, range.length());
    if (error == 0) size_ = size;
    if (error == EOPNOTSUPP) events_.pop_back();
    if (error != 0 && error != EOPNOTSUPP) throw SystemFailure("fallocate of " + name_, error);
    return error == 0;
}

bool CrashTest::WrittenFile::allocate(int mode, Range range) { return fallocate(mode, range); }

bool CrashTest::WrittenFile::zero(int mode, Range range) {
    note(Event::Kind::zero, range);
    const bool done = fallocate(mode, range);
    if (!done) events_.pop_back();
    return done;
}

void CrashTest::WrittenFile::write_dsync(Range range) {
    AlignedBuffer bytes{range.length()};
    fill_data(bytes.bytes(), {number_, ++generation_}, range.begin);
    note(Event::Kind::write, range, generation_);
    const iovec vector{bytes.bytes().data(), bytes.size()};
    const auto written =
        checked(::pwritev2(direct_.descriptor(), &vector, 1, static_cast<off_t>(range.begin), RWF_DSYNC),
                "a synchronous write to " + name_);
    if (static_cast<std::uint64_t>(written) != range.length()) throw Failure("a short synchronous write to " + name_);
    size_ = std::max(size_, range.end);
    note(Event::Kind::promise);
}

void CrashTest::WrittenFile::truncate(std::uint64_t size) {
    size_ = size;
    note(Event::Kind::resize, {0, size});
    buffered_.truncate(size);
}

void CrashTest::WrittenFile::fsync() {
    buffered_.sync();
    note(Event::Kind::promise);
}

void CrashTest::WrittenFile::fdatasync() {
    buffered_.datasync();
    note(Event::Kind::promise);
}

CrashTest::CrashTest(Experiment& experiment) : experiment_(experiment), disk_(*experiment.held_disk()) {
    const auto root = experiment.filesystem().root();
    age(root, 4 * MiB, experiment.seed());
    warm_up(root);
    begin_ = log_length();
}

CrashTest::WrittenFile& CrashTest::create() {
    files_.push_back(WrittenFile{*this, static_cast<std::uint32_t>(files_.size() + 1)});
    begin_ = log_length();
    return files_.back();
}

void CrashTest::sync_filesystem() { files_.front().buffered_.sync_filesystem(); }

std::uint64_t CrashTest::log_length() const { return disk_.served().log_length(); }

CrashModel CrashTest::model(const WrittenFile& file, std::uint64_t cut) const {
    using Kind = WrittenFile::Event::Kind;
    CrashModel result{file.number_};
    for (const auto& event : file.events_) {
        if (event.at > cut) break;
        if (event.kind == Kind::write) result.may_write(event.range, event.generation);
        if (event.kind == Kind::zero) result.may_zero(event.range);
        if (event.kind == Kind::resize) result.may_resize(event.range.end);
        if (event.kind == Kind::promise) result.promise();
    }
    return result;
}

void CrashTest::judge(std::span<const std::uint64_t> keep, std::uint64_t cut) {
    ++states_;
    const auto state = fmt::format("power cut after write {} of {}, {} of them kept", cut - begin_,
                                   log_length() - begin_, keep.size());
    try {
        DisposableFilesystem crashed{experiment_.recipe(), disk_.crash_state(keep)};
        for (const auto& file : files_) {
            Reader reader{crashed.root() / file.name_, Reading::direct};
            std::vector<std::byte> content(reader.size());
            content.resize(reader.read(0, content));
            model(file, cut).judge(content, reader.size(), state, findings_);
        }
        // Most of a state's time is the checker's, and damage seldom comes alone.
        constexpr std::uint64_t checked_one_in = 3;
        if (states_ % checked_one_in != 0) return;
        if (const auto report = crashed.finish(); report.damaged)
            damaged_.push_back(fmt::format("{}: {}: {}", state, report.command, report.output));
    } catch (const Failure& failure) {
        unmountable_.push_back(fmt::format("{}: {}", state, failure.what()));
    }
}

void CrashTest::cut_power() {
    const auto log = disk_.served().log();
    const auto end = static_cast<std::uint64_t>(log.size());
    for (const auto cut : spread(begin_, end, most_cuts)) {
        std::vector<std::uint64_t> keep(cut);
        std::ranges::generate(keep, [next = std::uint64_t{0}]() mutable { return next++; });
        judge(keep, cut);
    }
    std::mt19937_64 random{experiment_.seed()};
    for (std::size_t i = 0; i < random_states; ++i) {
        const auto cut = begin_ + random() % (end - begin_ + 1);
        const auto certain = durable({log.begin(), log.begin() + static_cast<std::ptrdiff_t>(cut)});
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
