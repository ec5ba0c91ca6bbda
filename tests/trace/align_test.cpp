// SPDX-License-Identifier: BSD-3-Clause
//
// Alignment against the textbook table, which is slow and obviously right.
#include "trace/align.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

namespace portcullis::trace {
namespace {

using Sequence = std::vector<int>;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

std::size_t length_by_table(const Sequence& a, const Sequence& b) {
  std::vector<std::size_t> above(b.size() + 1);
  for (const int x : a) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j < b.size(); ++j)
      row[j + 1] = x == b[j] ? above[j] + 1 : std::max(above[j + 1], row[j]);
    above = row;
  }
  return above.back();
}

/// Empty when the pairs are a longest common subsequence.
std::string problem(const Sequence& a, const Sequence& b) {
  const auto pairs = align(a, b);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (a.at(pairs[i].first) != b.at(pairs[i].second)) return "a pair of unequal elements";
    if (i != 0 && pairs[i].first <= pairs[i - 1].first) return "first not ascending";
    if (i != 0 && pairs[i].second <= pairs[i - 1].second) return "second not ascending";
  }
  return pairs.size() == length_by_table(a, b) ? "" : "not the longest";
}

Sequence random_sequence(std::mt19937& random) {
  Sequence sequence(random() % 16);
  const int symbols = 1 + static_cast<int>(random() % 5);
  std::ranges::generate(sequence, [&] { return static_cast<int>(random()) % symbols; });
  return sequence;
}

TEST(Align, RandomSequences_AreAlignedAsByTheTable) {
  std::mt19937 random(20251121);
  for (int i = 0; i < 20'000; ++i) {
    const Sequence a = random_sequence(random);
    const Sequence b = random_sequence(random);
    ASSERT_EQ(problem(a, b), "") << ::testing::PrintToString(a) << ::testing::PrintToString(b);
  }
}

TEST(Align, EqualSequences_AreAlignedOneByOne) {
  EXPECT_THAT(align(Sequence{1, 2, 1}, Sequence{1, 2, 1}),
              ElementsAre(Pair(0, 0), Pair(1, 1), Pair(2, 2)));
}

TEST(Align, ExtraElements_AreLeftOut) {
  EXPECT_THAT(align(Sequence{1, 2, 3}, Sequence{9, 1, 9, 3, 9}),
              ElementsAre(Pair(0, 1), Pair(2, 3)));
}

TEST(Align, EmptyOrDisjointSequences_HaveNoPairs) {
  EXPECT_THAT(align(Sequence{}, Sequence{}), IsEmpty());
  EXPECT_THAT(align(Sequence{1}, Sequence{}), IsEmpty());
  EXPECT_THAT(align(Sequence{1, 2}, Sequence{3, 4, 5}), IsEmpty());
}

TEST(Align, LongSequencesThatDifferInLittle_TakeNoSquareOfMemory) {
  Sequence a(200'000);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<int>(i % 7);
  Sequence b = a;
  b.erase(b.begin() + 100'000);
  b[150'000] = 8;
  EXPECT_THAT(align(a, b), SizeIs(a.size() - 2));
}

}  // namespace
}  // namespace portcullis::trace
