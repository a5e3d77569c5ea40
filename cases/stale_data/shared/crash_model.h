// What a file may hold after a power cut.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "fixtures/pattern/oracle.h"

namespace holdfast {

/// Sector by sector. Of what was asked for, any part may have happened to any sector; what a sync has promised must have.
/// All offsets and lengths are in bytes, whole sectors.
class CrashModel {
 public:
    explicit CrashModel(std::uint32_t file) : file_(file) {}

    /// A write of `generation` may have happened, or the turning of a range into zeros.
    void may_write(Range range, std::uint32_t generation);
    void may_zero(Range range);
    /// The end of file may have moved to `size`, with everything behind it gone.
    void may_resize(std::uint64_t size);
    /// The same, for certain: what lay behind shows no more. What lies before, and the size itself, which later changes
    /// may have moved on, are as unsure as they were.
    void did_resize(std::uint64_t size);
    /// The range may have been taken out, or zeros may have been put in front of what was there.
    void may_collapse(Range range);
    void may_insert(Range range);
    /// All that `other` holds may have come to be here, too (a clone).
    void may_become(const CrashModel& other);
    /// What `other` holds in as many bytes from `from` on may have come to be in `range`, too.
    void may_copy(const CrashModel& other, Range range, std::uint64_t from);
    /// A reader has found this to be all of the file, as one of the states that may be: it goes on from there, and whatever
    /// else may be may be after a power cut.
    void found(std::span<const std::byte> content);
    /// All of that has happened, for certain.
    void promise();
    /// The largest size that the file may have.
    [[nodiscard]] std::uint64_t largest() const { return largest_; }

    /// Judges what a direct reader finds in a file of `size` bytes; `state` ends the sentences.
    void judge(std::span<const std::byte> content, std::uint64_t size, std::string_view state,
               Findings& findings) const;
    /// Judges what shows from byte `size` on once a file that had `size` bytes has grown.
    void judge_behind(std::span<const std::byte> content, std::uint64_t size, std::string_view state,
                      Findings& findings) const;

 private:
    // The data of a file, of a generation, written for an offset; zeros where the generation is 0.
    struct Version {
        std::uint32_t file = 0;
        std::uint32_t generation = 0;
        std::uint64_t offset = 0;
        bool operator==(const Version&) const = default;
    };
    struct Sector {
        std::vector<Version> may{Version{}};
        Version latest{};
    };
    // A collapse or an insert, in sectors, that no sync has promised.
    struct Move {
        std::uint64_t begin = 0;
        std::uint64_t length = 0;
        bool collapses = false;
    };
    static void add(Sector& sector, const Version& version);
    // What is written in place, so that it may also show where those blocks are if the moves before are lost.
    void change(std::uint64_t index, const Version& version);
    static void add(Sector& sector, const Sector& other);
    static bool is(const Version& version, std::span<const std::byte, sector_size> bytes);
    void grow(std::uint64_t end);
    void size_may_be(std::uint64_t size);
    void judge_sector(std::span<const std::byte, sector_size> bytes, std::uint64_t offset, std::string_view state,
                      Findings& findings) const;

    std::uint32_t file_;
    std::vector<Sector> sectors_;
    /// The last one first.
    std::vector<Move> moves_;
    std::uint64_t size_ = 0;
    std::uint64_t smallest_ = 0;
    std::uint64_t largest_ = 0;
};

}  // namespace holdfast
