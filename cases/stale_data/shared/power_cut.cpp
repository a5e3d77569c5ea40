#include "cases/stale_data/shared/power_cut.h"

#include <algorithm>
#include <numeric>

namespace holdfast {

std::vector<std::uint64_t> kept_of(const WriteLog& log, std::uint64_t cut, Kept kept, std::mt19937_64& random) {
    std::vector<std::uint64_t> keep;
    if (kept == Kept::all) {
        keep.resize(cut);
        std::iota(keep.begin(), keep.end(), 0);
        return keep;
    }
    auto certain = durable(std::span{log}.first(cut));
    if (kept == Kept::random) {
        for (std::uint64_t sequence = 0; sequence < cut; ++sequence)
            if (std::ranges::binary_search(certain, sequence) || random() % 2 == 0) keep.push_back(sequence);
        return keep;
    }
    if (kept == Kept::last && cut > 0 && (certain.empty() || certain.back() != cut - 1)) certain.push_back(cut - 1);
    return certain;
}

}  // namespace holdfast
