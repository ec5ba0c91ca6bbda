// SPDX-License-Identifier: BSD-3-Clause
//
// A tag list by itself. Rules as in model/tag_matching/tag_list.hpp.
#include "model/tag_matching/tag_list.hpp"

#include <gtest/gtest.h>

#include <random>

namespace portcullis::model {
namespace {

constexpr std::uint64_t kWhole = ~std::uint64_t{0};

class TagListTest : public ::testing::Test {
 protected:
  bool append(std::uint64_t tag, std::uint16_t next, std::uint64_t mask = kWhole) {
    return list_.append({tag, mask, {64, 0x200, 0x1000 + tag}}, next);
  }
  TagList list_{2};
};

TEST_F(TagListTest, FirstEntry_HasPlaceZeroAndTheNextTheOneItNamed) {
  ASSERT_TRUE(append(7, 3));
  ASSERT_TRUE(append(8, 1));
  EXPECT_EQ(list_.next_index(), 1);
  EXPECT_EQ(list_.take(8)->index, 3);
  EXPECT_EQ(list_.take(7)->index, 0);
}

TEST_F(TagListTest, Match_BringsItsBufferAndIsGone) {
  ASSERT_TRUE(append(7, 1));
  const auto match = list_.take(7);
  ASSERT_TRUE(match);
  EXPECT_EQ(match->piece.va, 0x1007U);
  EXPECT_EQ(match->piece.bytes, 64U);
  EXPECT_FALSE(list_.take(7));
  EXPECT_EQ(list_.size(), 0U);
}

TEST_F(TagListTest, SeveralMatch_TheOldestIsTaken) {
  ASSERT_TRUE(append(7, 2));
  ASSERT_TRUE(append(7, 1));
  EXPECT_EQ(list_.take(7)->index, 0);
  EXPECT_EQ(list_.take(7)->index, 2);
}

TEST_F(TagListTest, BitsOutsideTheMask_AreNotLookedAt) {
  ASSERT_TRUE(append(0x34, 1, 0xff));
  EXPECT_FALSE(list_.take(0x1235));
  EXPECT_EQ(list_.take(0x1234)->index, 0);
}

TEST_F(TagListTest, MaskOfNothing_MatchesAnyTag) {
  ASSERT_TRUE(append(0, 1, 0));
  EXPECT_TRUE(list_.take(0xfeedULL << 40));
}

TEST_F(TagListTest, TagWithABitOutsideItsMask_MatchesNothing) {
  ASSERT_TRUE(append(0x100, 1, 0xff));
  EXPECT_FALSE(list_.take(0x100));
}

TEST_F(TagListTest, PlaceThatIsTaken_IsRefusedAndNothingChanges) {
  ASSERT_TRUE(append(7, 0));
  EXPECT_FALSE(append(8, 1));
  EXPECT_EQ(list_.next_index(), 0);
  EXPECT_FALSE(list_.take(8));
  ASSERT_TRUE(list_.take(7));
  EXPECT_TRUE(append(8, 1));
}

TEST_F(TagListTest, NextPlaceOutsideTheList_IsRefused) {
  EXPECT_FALSE(append(7, 4));
  EXPECT_EQ(list_.size(), 0U);
}

TEST_F(TagListTest, Removed_IsNotMatched) {
  ASSERT_TRUE(append(7, 1));
  EXPECT_TRUE(list_.remove(0));
  EXPECT_FALSE(list_.take(7));
}

TEST_F(TagListTest, RemovedAfterItMatched_IsNotThere) {
  ASSERT_TRUE(append(7, 1));
  ASSERT_TRUE(list_.take(7));
  EXPECT_FALSE(list_.remove(0));
}

TEST_F(TagListTest, RemoveOfAPlaceThatIsNone_IsNotThere) { EXPECT_FALSE(list_.remove(0xffff)); }

TEST_F(TagListTest, AppendedBehindAnUnexpectedMessage_TakesPartWhenTheCountsMeet) {
  list_.count_unexpected();
  ASSERT_TRUE(append(7, 1));
  EXPECT_FALSE(list_.take(7));
  list_.synchronize(2);
  EXPECT_FALSE(list_.take(7));
  list_.synchronize(1);
  EXPECT_TRUE(list_.take(7));
}

TEST_F(TagListTest, AppendedBeforeAnUnexpectedMessage_GoesOn) {
  ASSERT_TRUE(append(7, 1));
  list_.count_unexpected();
  EXPECT_TRUE(list_.take(7));
}

TEST_F(TagListTest, CountsWrapAtSixteenBits) {
  for (int i = 0; i < 0x10000; ++i) list_.count_unexpected();
  EXPECT_EQ(list_.hw_phase(), 0);
  ASSERT_TRUE(append(7, 1));
  EXPECT_TRUE(list_.take(7));
}

TEST_F(TagListTest, AnyOperationsInAnyOrder_HoldNoMoreThanThereIsRoomFor) {
  std::mt19937 random(5);
  for (int i = 0; i < 100'000; ++i) {
    static_cast<void>(append(random() % 8, static_cast<std::uint16_t>(random() % 6), random() % 8));
    static_cast<void>(list_.take(random() % 8));
    static_cast<void>(list_.remove(static_cast<std::uint16_t>(random() % 6)));
    list_.synchronize(static_cast<std::uint16_t>(random() % 4));
    ASSERT_LE(list_.size(), 4U);
  }
}

}  // namespace
}  // namespace portcullis::model
