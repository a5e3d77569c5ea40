// What the files of a crash test go through, and must show, while no power is cut.
#include <algorithm>
#include <cerrno>
#include <limits>

#include <fcntl.h>
#include <unistd.h>

#include "cases/stale_data/shared/crash.h"
#include "fixtures/base/failure.h"
#include "fixtures/io/clone.h"
#include "fixtures/io/mapping.h"
#include "fixtures/pattern/sector.h"

namespace holdfast {
namespace {

constexpr auto never = std::numeric_limits<std::uint64_t>::max();

bool is_synchronous(WriteWay way) {
    return way == WriteWay::o_sync || way == WriteWay::rwf_dsync || way == WriteWay::direct_sequential_sync;
}

}  // namespace

bool CrashTest::WrittenFile::all_promised() const {
    const std::scoped_lock lock{mutex_};
    return events_.empty() ||
           (events_.back().kind == Event::Kind::promise && events_.back().covers + 1 == events_.size());
}

AlignedBuffer CrashTest::WrittenFile::begin_write(Range range) {
    AlignedBuffer bytes{range.length()};
    fill_data(bytes.bytes(), {number_, ++generation_}, range.begin);
    note(Event::Kind::write, range, generation_);
    return bytes;
}

void CrashTest::WrittenFile::begin_zero(Range range) { note(Event::Kind::zero, range); }
void CrashTest::WrittenFile::begin_resize(std::uint64_t size) {
    note({.kind = Event::Kind::resize, .range = {0, size}, .alone = false});
}

std::optional<std::string> CrashTest::WrittenFile::write_by(WriteWay way, Range range) {
    const bool alone = all_promised();
    const auto bytes = begin_write(range);
    auto outcome = holdfast::write_by(way, path(), range.begin, bytes.bytes());
    if (!outcome.possible) {
        events_.pop_back();
        return std::nullopt;
    }
    size_ = std::max(size_, range.end);
    if (alone && is_synchronous(way)) promise(calls_so_far());
    return outcome.wrong;
}

void CrashTest::WrittenFile::store(Range range) {
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const auto first = range.begin / page * page;
    const auto bytes = begin_write(range);
    const Mapping mapping{buffered_, first, (range.end - first + page - 1) / page * page};
    std::ranges::copy(bytes.bytes(), mapping.bytes().subspan(range.begin - first).begin());
}

bool CrashTest::WrittenFile::copied(const WrittenFile& source, std::uint64_t from, Range range, int error) {
    if (error != 0 && error != EOPNOTSUPP && error != ENOTTY) throw SystemFailure("copying to " + name_, error);
    if (error != 0) return false;
    note({.kind = Event::Kind::copy,
          .range = range,
          .source = &source,
          .source_calls = source.calls_so_far(),
          .to = from});
    size_ = std::max(size_, range.end);
    return true;
}

// Noted afterwards: nothing else goes on meanwhile, but a power cut may fall in between, so that it begins with the call.
bool CrashTest::WrittenFile::copy(const WrittenFile& source, std::uint64_t from, Range range) {
    const auto asked = test_.log_length();
    auto at = static_cast<off64_t>(from);
    auto into = static_cast<off64_t>(range.begin);
    while (static_cast<std::uint64_t>(into) < range.end) {
        const auto left = range.end - static_cast<std::uint64_t>(into);
        const auto count =
            ::copy_file_range(source.buffered_.descriptor(), &at, buffered_.descriptor(), &into, left, 0);
        if (count == 0) throw Failure("copy_file_range has copied nothing from " + source.name_ + ", before its end");
        if (count < 0) return copied(source, from, range, errno);
    }
    const bool done = copied(source, from, range, 0);
    events_.back().at = asked;
    return done;
}

bool CrashTest::WrittenFile::clone_range(const WrittenFile& source, std::uint64_t from, Range range) {
    const auto asked = test_.log_length();
    const int error = holdfast::clone_range(source.buffered_, buffered_, {from, range.length(), range.begin});
    if (error != 0) return copied(source, from, range, error);
    const bool done = copied(source, from, range, 0);
    events_.back().at = asked;
    return done;
}

void CrashTest::WrittenFile::drop_cache() {
    fsync();
    buffered_.drop_cache();
}

std::vector<std::byte> CrashTest::WrittenFile::content(Reading reading) const {
    Reader reader{path(), reading};
    std::vector<std::byte> bytes(reader.size());
    if (!bytes.empty()) bytes.resize(std::min(reader.read(0, bytes), bytes.size()));
    return bytes;
}

void CrashTest::WrittenFile::judge_now(Reading reading, Findings& findings) {
    auto expected = model(*this, never, 0);
    expected.promise();
    const auto bytes = content(reading);
    expected.judge(bytes, buffered_.size(), describe(reading), findings);
}

void CrashTest::WrittenFile::settle(std::size_t since, bool synced, Findings& findings) {
    auto expected = model(*this, never, 0, since);
    expected.promise();
    for (auto i = since; i < events_.size(); ++i) events_[i].may_happen(expected);
    auto bytes = content(Reading::direct);
    expected.judge(bytes, buffered_.size(), "once all calls that were under way together have ended", findings);
    size_ = bytes.size();
    note({.kind = Event::Kind::found, .content = std::move(bytes)});
    if (synced) promise(since);
}

}  // namespace holdfast
