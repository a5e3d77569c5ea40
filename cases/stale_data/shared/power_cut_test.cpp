#include "cases/stale_data/shared/power_cut.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;

// Two writes, a flush that covers the first alone, and three writes.
WriteLog log_of_six() {
    WriteLog log(6);
    for (std::uint64_t i = 0; i < log.size(); ++i) log[i].sequence = i;
    log[2].kind = LogEntry::Kind::flush;
    log[2].covers = 1;
    return log;
}

TEST(PowerCut, KeepsWhatItSays) {
    const auto log = log_of_six();
    std::mt19937_64 random{1};
    EXPECT_THAT(kept_of(log, 2, Kept::all, random), ElementsAre(0, 1));
    EXPECT_THAT(kept_of(log, 2, Kept::certain, random), IsEmpty());
    EXPECT_THAT(kept_of(log, 6, Kept::certain, random), ElementsAre(0));
    EXPECT_THAT(kept_of(log, 6, Kept::last, random), ElementsAre(0, 5));
    EXPECT_THAT(kept_of(log, 0, Kept::last, random), IsEmpty());
}

TEST(PowerCut, ARandomPartOfWhatIsNotCertainIsLost) {
    const auto log = log_of_six();
    std::mt19937_64 random{1};
    bool kept_all = true;
    for (int i = 0; i < 20; ++i) {
        const auto keep = kept_of(log, 6, Kept::random, random);
        EXPECT_THAT(keep, IsSupersetOf({0}));
        EXPECT_TRUE(std::ranges::is_sorted(keep));
        kept_all &= keep.size() >= 5;
    }
    EXPECT_FALSE(kept_all);
}

}  // namespace
}  // namespace holdfast
