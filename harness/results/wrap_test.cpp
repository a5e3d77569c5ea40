#include "harness/results/wrap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Wrap, BreaksAtSpaces) {
    EXPECT_THAT(wrap("one two three", 7), ElementsAre("one two", "three"));
    EXPECT_THAT(wrap("one two three", 100), ElementsAre("one two three"));
    EXPECT_THAT(wrap(" one  two ", 3), ElementsAre("one", "two"));
    EXPECT_THAT(wrap("", 5), IsEmpty());
}

TEST(Wrap, ALongWordHasALineOfItsOwn) { EXPECT_THAT(wrap("a longword b", 4), ElementsAre("a", "longword", "b")); }

TEST(Wrap, CountsCharactersNotBytes) { EXPECT_THAT(wrap("éé éé", 5), ElementsAre("éé éé")); }

TEST(Wrap, KeepsTogetherWhatBelongsTogether) {
    EXPECT_THAT(wrap("ext4\0011.25\001s, xfs\0012\001s", 14), ElementsAre("ext4 1.25 s,", "xfs 2 s"));
}

}  // namespace
}  // namespace holdfast
