#include "cases/stale_data/shared/tracked_file.h"

#include <algorithm>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>

#include "fixtures/base/failure.h"

namespace holdfast {

TrackedFile::TrackedFile(std::filesystem::path path, std::uint32_t number)
    : path_(std::move(path)), content_(number), file_(File::create(path_)) {}

void TrackedFile::put(const File& file, Range range) {
    AlignedBuffer buffer{range.length()};
    fill_data(buffer.bytes(), {content_.file(), ++generation_}, range.begin);
    content_.submit(range, generation_);
    file.write_at(range.begin, buffer.bytes());
    content_.acknowledge(range, generation_);
}

void TrackedFile::write(Range range) { put(*file_, range); }

void TrackedFile::write_direct(Range range) {
    if (!direct_) direct_ = File::open(path_, O_RDWR | O_DIRECT);
    put(*direct_, range);
}

void TrackedFile::truncate(std::uint64_t size) {
    file_->truncate(size);
    content_.resized(size);
}

void TrackedFile::sync() { file_->sync(); }

bool TrackedFile::fallocate(int mode, Range range) {
    const int error = file_->fallocate(mode, range.begin, range.length());
    if (error == EOPNOTSUPP) return false;
    if (error != 0)
        throw SystemFailure(fmt::format("fallocate with mode {:#x} of {} bytes at offset {} of {}", mode,
                                        range.length(), range.begin, path_.string()),
                            error);
    return true;
}

bool TrackedFile::allocate(int mode, Range range) {
    if (!fallocate(mode, range)) return false;
    if ((mode & FALLOC_FL_KEEP_SIZE) == 0) content_.resized(std::max(content_.acknowledged_size(), range.end));
    return true;
}

bool TrackedFile::zero(int mode, Range range) {
    if (!allocate(mode, range)) return false;
    content_.zeroed(range);
    return true;
}

void TrackedFile::write_for_later(Range range, std::int64_t shift) {
    AlignedBuffer buffer{range.length()};
    fill_data(buffer.bytes(), {content_.file(), ++generation_}, range.begin + static_cast<std::uint64_t>(shift));
    file_->write_at(range.begin, buffer.bytes());
}

bool TrackedFile::shift_tail(int mode, Range range) {
    const auto size = file_->size();
    if (!fallocate(mode, range)) return false;
    const bool insert = mode == FALLOC_FL_INSERT_RANGE;
    const Range moved = insert ? Range{range.end, size + range.length()} : Range{range.begin, size - range.length()};
    content_.resized(moved.end);
    if (insert) content_.zeroed(range);
    content_.submit(moved, generation_);
    content_.acknowledge(moved, generation_);
    return true;
}

}  // namespace holdfast
