// What a file must look like after calls of fallocate(2), by its manual page: a model that needs no kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace holdfast::fallocate {

/// What a block of the file has to be.
enum class BlockState {
    hole,
    unwritten,
    written,
    /// Unwritten or written: the manual page leaves it to the filesystem.
    allocated,
    /// Anything, a hole included: the manual page says nothing.
    unspecified,
};

class FileModel {
 public:
    /// An empty file. `block` is what the filesystem tells apart in FIEMAP, `unit` what it allocates at once (a cluster of
    /// bigalloc, an extent size hint of XFS); both in bytes, `unit` a multiple of `block`.
    FileModel(std::uint64_t block, std::uint64_t unit) : block_(block), unit_(unit) {}

    /// write(2) and fsync(2).
    void write(std::uint64_t offset, std::span<const std::byte> data);
    /// ftruncate(2) to a larger size.
    void grow(std::uint64_t size);
    /// ftruncate(2) to any size. What lay behind it is gone.
    void truncate(std::uint64_t size);

    /// The modes. Offsets and lengths in bytes, as the call gets them.
    void allocate(std::uint64_t offset, std::uint64_t length, bool keep_size);
    void punch(std::uint64_t offset, std::uint64_t length);
    void zero(std::uint64_t offset, std::uint64_t length, bool keep_size);
    void write_zeroes(std::uint64_t offset, std::uint64_t length);
    void collapse(std::uint64_t offset, std::uint64_t length);
    void insert(std::uint64_t offset, std::uint64_t length);

    /// Unwritten blocks may have become zeros on the disk. ext4 does that to up to 32 KiB (extent_max_zeroout_kb) beside
    /// a write into an unwritten extent, rather than split it, where it converts at once (dioread_lock).
    void let_unwritten_be_zeroed();

    /// A write into a hole of [offset, offset + length) may have allocated the rest of the allocation unit along.
    void let_neighbours_be_allocated(std::uint64_t offset, std::uint64_t length);

    /// Where the file ends, or ended, or a punched range does, at byte `end` inside a block: a filesystem may clear the rest
    /// of that block, and for that give it to what was a hole (btrfs does).
    void let_end_be_allocated(std::uint64_t end);

    /// Holes may have been filled, also behind the last block: a filesystem may allocate in advance for a file that grows
    /// by writing (XFS does), and for the whole of a folio that is written through a mapping.
    void let_holes_be_filled();

    [[nodiscard]] std::uint64_t block() const { return block_; }
    [[nodiscard]] std::uint64_t size() const { return content_.size(); }
    /// All bytes up to the end of file.
    [[nodiscard]] std::span<const std::byte> content() const { return content_; }
    /// The state of each block from the start of the file.
    [[nodiscard]] std::span<const BlockState> blocks() const { return blocks_; }
    /// The state of every block beyond: a hole, or unspecified.
    [[nodiscard]] BlockState beyond() const { return beyond_; }

 private:
    BlockState& state(std::uint64_t index);
    /// What lies up to a unit away may be allocated along: an extent size hint of XFS is aligned to where the extent before
    /// ends, not only to its own multiples.
    void open_neighbours(std::uint64_t first, std::uint64_t end);
    /// The manual page does not say what these modes do with blocks that are allocated behind the end of file. ext4 leaves
    /// them alone when it punches, XFS frees them before it moves extents.
    void leave_open_behind_end();
    void clear_content(std::uint64_t offset, std::uint64_t length);
    std::uint64_t block_;
    std::uint64_t unit_;
    std::vector<std::byte> content_;
    std::vector<BlockState> blocks_;
    BlockState beyond_ = BlockState::hole;
};

}  // namespace holdfast::fallocate
