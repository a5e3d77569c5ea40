#include "cases/sources/shared/allocation.h"

#include <algorithm>
#include <array>

#include <fcntl.h>

#include "fixtures/base/bytes.h"
#include "fixtures/base/failure.h"
#include "fixtures/pattern/sector.h"

namespace holdfast::sources {
namespace {

void write_zeros(const File& file, std::uint64_t length, std::uint64_t unit) {
    AlignedBuffer zeros{unit};
    std::ranges::fill(zeros.bytes(), std::byte{0});
    for (std::uint64_t offset = 0; offset < length; offset += unit) file.write_at(offset, zeros.bytes());
}

}  // namespace

std::string_view name_of(Allocation allocation) {
    switch (allocation) {
        case Allocation::one_write:
            return "one pwrite";
        case Allocation::small_writes:
            return "8 KiB writes";
        case Allocation::posix_fallocate:
            return "posix_fallocate";
        case Allocation::emulation:
            return "4 bytes in each block";
        case Allocation::fallocate_or_write:
            return "fallocate or one pwrite";
        case Allocation::last_sector:
            return "last sector";
        case Allocation::truncate:
            return "ftruncate";
    }
    return "?";
}

void allocate(const File& file, Allocation allocation, std::uint64_t length) {
    switch (allocation) {
        case Allocation::one_write:
            return write_zeros(file, length, length);
        case Allocation::small_writes:
            return write_zeros(file, length, 8 * KiB);
        case Allocation::posix_fallocate:
            if (const int error = ::posix_fallocate(file.descriptor(), 0, static_cast<off_t>(length)); error != 0)
                throw SystemFailure("posix_fallocate of " + file.path().string(), error);
            return;
        case Allocation::emulation: {
            const std::array<std::byte, 4> few{};
            for (std::uint64_t offset = 0; offset < length; offset += 4 * KiB) file.write_at(offset, few);
            return file.truncate(length);
        }
        case Allocation::fallocate_or_write: {
            const int error = file.fallocate(0, 0, length);
            if (error == EOPNOTSUPP) return write_zeros(file, length, length);
            if (error != 0) throw SystemFailure("fallocate of " + file.path().string(), error);
            return;
        }
        case Allocation::last_sector: {
            AlignedBuffer sector{sector_size};
            std::ranges::fill(sector.bytes(), std::byte{0});
            return file.write_at(length - sector_size, sector.bytes());
        }
        case Allocation::truncate:
            return file.truncate(length);
    }
}

void rewrite(const File& file, std::uint64_t length, std::uint64_t unit, std::uint32_t generation) {
    AlignedBuffer data{unit};
    for (std::uint64_t offset = 0; offset < length; offset += unit) {
        fill_data(data.bytes(), {.file = 1, .generation = generation}, offset);
        file.write_at(offset, data.bytes());
    }
}

}  // namespace holdfast::sources
