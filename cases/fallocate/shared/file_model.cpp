#include "cases/fallocate/shared/file_model.h"

#include <algorithm>

namespace holdfast::fallocate {

namespace {

/// The blocks that a range touches, and those that it covers wholly.
struct Cover {
    std::uint64_t first;
    std::uint64_t end;
    std::uint64_t block;
    std::uint64_t offset;
    std::uint64_t stop;

    Cover(std::uint64_t block_size, std::uint64_t from, std::uint64_t length)
        : first(from / block_size),
          end((from + length + block_size - 1) / block_size),
          block(block_size),
          offset(from),
          stop(from + length) {}
    [[nodiscard]] bool whole(std::uint64_t index) const {
        return index * block >= offset && (index + 1) * block <= stop;
    }
};

}  // namespace

BlockState& FileModel::state(std::uint64_t index) {
    if (index >= blocks_.size()) blocks_.resize(index + 1, beyond_);
    return blocks_[index];
}

void FileModel::clear_content(std::uint64_t offset, std::uint64_t length) {
    const std::uint64_t from = std::min<std::uint64_t>(offset, size());
    const std::uint64_t to = std::min<std::uint64_t>(offset + length, size());
    std::fill(content_.begin() + static_cast<std::ptrdiff_t>(from), content_.begin() + static_cast<std::ptrdiff_t>(to),
              std::byte{0});
}

void FileModel::grow(std::uint64_t size) {
    if (size > content_.size()) content_.resize(size, std::byte{0});
}

void FileModel::truncate(std::uint64_t size) {
    const std::uint64_t kept = (size + block_ - 1) / block_;
    if (size <= content_.size()) blocks_.resize(std::min<std::uint64_t>(blocks_.size(), kept));
    content_.resize(size, std::byte{0});
}

void FileModel::leave_open_behind_end() {
    for (std::uint64_t index = (size() + block_ - 1) / block_; index < blocks_.size(); ++index) {
        if (blocks_[index] != BlockState::hole) blocks_[index] = BlockState::unspecified;
    }
}

void FileModel::write(std::uint64_t offset, std::span<const std::byte> data) {
    grow(offset + data.size());
    std::copy(data.begin(), data.end(), content_.begin() + static_cast<std::ptrdiff_t>(offset));
    const Cover range(block_, offset, data.size());
    for (std::uint64_t index = range.first; index < range.end; ++index) state(index) = BlockState::written;
}

void FileModel::allocate(std::uint64_t offset, std::uint64_t length, bool keep_size) {
    const std::uint64_t old_end = size();
    if (!keep_size) grow(offset + length);
    const Cover range(block_, offset, length);
    for (std::uint64_t index = range.first; index < range.end; ++index) {
        if (state(index) == BlockState::hole) state(index) = BlockState::unwritten;
    }
    // A filesystem may clear the rest of the block in which the file ended (btrfs does).
    if (old_end % block_ != 0 && state(old_end / block_) == BlockState::unwritten) {
        state(old_end / block_) = BlockState::allocated;
    }
    open_neighbours(range.first, range.end);
}

void FileModel::open_neighbours(std::uint64_t first, std::uint64_t end) {
    const std::uint64_t per_unit = unit_ / block_;
    if (per_unit == 1) return;
    const std::uint64_t first_unit = first / per_unit;
    const std::uint64_t end_unit = (end + per_unit - 1) / per_unit + 1;
    for (std::uint64_t index = (first_unit - std::min<std::uint64_t>(first_unit, 1)) * per_unit;
         index < end_unit * per_unit; ++index) {
        if (state(index) == BlockState::hole) state(index) = BlockState::unspecified;
    }
}

void FileModel::let_unwritten_be_zeroed() {
    std::ranges::replace(blocks_, BlockState::unwritten, BlockState::allocated);
}

void FileModel::let_neighbours_be_allocated(std::uint64_t offset, std::uint64_t length) {
    const Cover range(block_, offset, length);
    open_neighbours(range.first, range.end);
}

void FileModel::let_end_be_allocated(std::uint64_t end) {
    if (end % block_ != 0 && state(end / block_) == BlockState::hole) state(end / block_) = BlockState::unspecified;
}

void FileModel::let_holes_be_filled() {
    std::ranges::replace(blocks_, BlockState::hole, BlockState::unspecified);
    beyond_ = BlockState::unspecified;
}

void FileModel::punch(std::uint64_t offset, std::uint64_t length) {
    leave_open_behind_end();
    clear_content(offset, length);
    const Cover range(block_, offset, length);
    for (std::uint64_t index = range.first; index < std::min<std::uint64_t>(range.end, blocks_.size()); ++index) {
        if (range.whole(index)) {
            if (index * block_ < size()) state(index) = BlockState::hole;
        } else if (index * block_ >= offset && range.stop >= size()) {
            // Nothing of the block is left in the file; ext4 takes it away, XFS clears it.
            state(index) = BlockState::unspecified;
        } else if (state(index) == BlockState::unwritten) {
            state(index) = BlockState::allocated;
        }
    }
}

void FileModel::zero(std::uint64_t offset, std::uint64_t length, bool keep_size) {
    clear_content(offset, length);
    allocate(offset, length, keep_size);
    const Cover range(block_, offset, length);
    for (std::uint64_t index = range.first; index < range.end; ++index) {
        if (range.whole(index) || state(index) != BlockState::written) state(index) = BlockState::allocated;
    }
}

void FileModel::write_zeroes(std::uint64_t offset, std::uint64_t length) {
    zero(offset, length, false);
    const Cover range(block_, offset, length);
    for (std::uint64_t index = range.first; index < range.end; ++index) {
        if (range.whole(index)) state(index) = BlockState::written;
    }
}

void FileModel::collapse(std::uint64_t offset, std::uint64_t length) {
    leave_open_behind_end();
    const auto from = static_cast<std::ptrdiff_t>(offset);
    content_.erase(content_.begin() + from, content_.begin() + from + static_cast<std::ptrdiff_t>(length));
    const auto begin = blocks_.begin();
    const auto first = static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(offset / block_, blocks_.size()));
    const auto end = static_cast<std::ptrdiff_t>(std::min<std::uint64_t>((offset + length) / block_, blocks_.size()));
    blocks_.erase(begin + first, begin + end);
}

void FileModel::insert(std::uint64_t offset, std::uint64_t length) {
    leave_open_behind_end();
    content_.insert(content_.begin() + static_cast<std::ptrdiff_t>(offset), length, std::byte{0});
    if (offset / block_ < blocks_.size()) {
        blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(offset / block_), length / block_,
                       BlockState::hole);
    }
}

}  // namespace holdfast::fallocate
