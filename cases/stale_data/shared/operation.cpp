#include "cases/stale_data/shared/operation.h"

#include <algorithm>

#include <fcntl.h>

namespace holdfast {
namespace {

using Kind = Operation::Kind;

std::uint64_t size_after(std::uint64_t size, const Operation& operation) {
    switch (operation.kind) {
        case Kind::truncate:
            return operation.range.end;
        case Kind::direct_write:
        case Kind::buffered_write:
        case Kind::uncached_write:
        case Kind::store:
            return std::max(size, operation.range.end);
        case Kind::allocate:
        case Kind::zero:
            return (operation.mode & FALLOC_FL_KEEP_SIZE) != 0 ? size : std::max(size, operation.range.end);
        case Kind::datasync:
            return size;
    }
    return size;
}

}  // namespace

std::set<std::uint64_t> possible_sizes(std::uint64_t size, const std::vector<Operation>& operations) {
    std::set<std::uint64_t> sizes;
    std::vector<std::size_t> order(operations.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    do {
        auto end = size;
        for (const auto index : order) end = size_after(end, operations[index]);
        sizes.insert(end);
    } while (std::ranges::next_permutation(order).found);
    return sizes;
}

}  // namespace holdfast
