// What a crash test does to its files, and remembers.
#include <algorithm>
#include <cerrno>
#include <limits>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/uio.h>

#include "cases/stale_data/shared/crash.h"
#include "fixtures/base/failure.h"
#include "fixtures/io/clone.h"
#include "fixtures/pattern/sector.h"

namespace holdfast {

CrashTest::WrittenFile::WrittenFile(CrashTest& test, std::uint32_t number)
    : test_(test),
      number_(number),
      name_(fmt::format("file-{}", number)),
      buffered_(File::create(test.experiment_.filesystem().root() / name_)),
      direct_(File::open(test.experiment_.filesystem().root() / name_, O_RDWR | O_DIRECT)) {
    buffered_.sync_filesystem();
    created_ = test_.log_length();
}

void CrashTest::WrittenFile::note(const Event& event) {
    const std::scoped_lock lock{mutex_};
    events_.push_back(event);
    events_.back().at = test_.log_length();
}

void CrashTest::WrittenFile::note(Event::Kind kind, Range range, std::uint32_t generation) {
    note({.kind = kind, .range = range, .generation = generation});
}

std::size_t CrashTest::WrittenFile::calls_so_far() const {
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

std::int64_t CrashTest::WrittenFile::write_atomically(AtomicWay way, Range range) {
    const auto bytes = begin_write(range);
    events_.back().whole = true;
    const auto result = holdfast::write_atomically(way, direct_, range.begin, bytes.bytes());
    if (!result || *result < 0) {
        events_.pop_back();
        return result.value_or(-EOPNOTSUPP);
    }
    size_ = std::max(size_, range.end);
    return *result;
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
    note({.kind = Event::Kind::clone, .source = &source, .source_calls = source.calls_so_far()});
    return done(clone_all(source.buffered_, buffered_), source.size_);
}

void CrashTest::WrittenFile::rename_over(WrittenFile& replaced) {
    const auto& root = test_.experiment_.filesystem().root();
    replaced.replaced_ = Replacement{this, test_.log_length(), std::numeric_limits<std::uint64_t>::max()};
    has_name_ = false;
    std::filesystem::rename(root / name_, root / replaced.name_);
    File::open(root, O_RDONLY | O_DIRECTORY).sync();
    replaced.replaced_->promised = test_.log_length();
}

// Seen under the new name, it is as it was then.
void CrashTest::WrittenFile::rename_over_unsynced(WrittenFile& replaced) {
    const auto& root = test_.experiment_.filesystem().root();
    promise_all();
    constexpr auto never = std::numeric_limits<std::uint64_t>::max();
    replaced.replaced_ = Replacement{this, test_.log_length(), never};
    has_name_ = false;
    std::filesystem::rename(root / name_, root / replaced.name_);
}

void CrashTest::WrittenFile::reopen_synchronously() { buffered_ = File::open(buffered_.path(), O_RDWR | O_SYNC); }

void CrashTest::WrittenFile::start_writeback(Range range) {
    checked(::sync_file_range(buffered_.descriptor(), static_cast<off64_t>(range.begin),
                              static_cast<off64_t>(range.length()),
                              SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER),
            "sync_file_range of " + name_);
}

bool CrashTest::WrittenFile::allocate(int mode, Range range) { return fallocate(mode, range); }

bool CrashTest::WrittenFile::zero(int mode, Range range) {
    note(Event::Kind::zero, range);
    const bool done = fallocate(mode, range);
    if (!done) events_.pop_back();
    return done;
}

bool CrashTest::WrittenFile::write_durably(SyncWay way, Range range) {
    const auto bytes = begin_write(range);
    const auto error = holdfast::write_durably(way, buffered_.path(), range.begin, bytes.bytes());
    if (!error) {
        events_.pop_back();
        return false;
    }
    if (*error != 0) throw SystemFailure(fmt::format("{} to {}", describe(way), name_), *error);
    size_ = std::max(size_, range.end);
    promise(calls_so_far());
    return true;
}

void CrashTest::WrittenFile::truncate(std::uint64_t size) {
    size_ = size;
    note(Event::Kind::resize, {0, size});
    buffered_.truncate(size);
}

void CrashTest::WrittenFile::fsync() {
    const auto covers = calls_so_far();
    buffered_.sync();
    promise(covers);
}

bool CrashTest::WrittenFile::allocate_synchronously(int mode, Range range) {
    const auto file = File::open(test_.experiment_.filesystem().root() / name_, O_RDWR | O_SYNC);
    const auto size = (mode & FALLOC_FL_KEEP_SIZE) == 0 ? std::max(size_, range.end) : size_;
    note(Event::Kind::resize, {0, size});
    if (!done(file.fallocate(mode, range.begin, range.length()), size)) return false;
    promise(calls_so_far());
    return true;
}

void CrashTest::WrittenFile::aio_fdsync() {
    if (const int error = sync_by_aio(buffered_, true); error != 0)
        throw SystemFailure("an asynchronous fdatasync of " + name_, error);
    promise(calls_so_far());
}

void CrashTest::WrittenFile::syncfs() {
    const auto covers = calls_so_far();
    buffered_.sync_filesystem();
    promise(covers);
}

void CrashTest::WrittenFile::fdatasync() {
    const auto covers = calls_so_far();
    buffered_.datasync();
    promise(covers);
}

}  // namespace holdfast
