// SPDX-License-Identifier: BSD-3-Clause
//
// The set of states against one of the standard library, over many sizes, where fingerprints crowd,
// and where states differ in their upper words alone.
#include "failover/explore/state_set.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace portcullis::failover {
namespace {

/// Inserts `count` states with upper words below `uppers` and tells how often the set was wrong.
template <unsigned kWords, class HashOf>
unsigned mistakes(StateSet<kWords>& set, unsigned count, std::uint64_t uppers, HashOf hash_of) {
  std::mt19937_64 random(7);
  std::set<State<kWords>> known;
  unsigned wrong = 0;
  for (unsigned i = 0; i < count; ++i) {
    State<kWords> state;
    state.words[0] = random() % (count / 2);  // about every third was there
    for (unsigned word = 1; word < kWords; ++word) state.words[word] = random() % uppers;
    wrong += set.insert(state, hash_of(state)) != known.insert(state).second;
    wrong += set.insert(state, hash_of(state));
  }
  return wrong + (set.size() != known.size());
}

TEST(StateSet, OneWord_HoldsWhatWasInserted) {
  StateSet<1> set(0, 0, 1);
  EXPECT_EQ(mistakes(set, 200'000, 1, [](const auto& state) { return fingerprint(state, 0); }), 0U);
}

TEST(StateSet, UpperWords_TellStatesApart) {
  StateSet<3> set(11, 0, 1);
  EXPECT_EQ(mistakes(set, 100'000, 3, [](const auto& state) { return fingerprint(state, 0); }), 0U);
}

TEST(StateSet, StatesOfFewBits_AreHeldToTheLastOne) {
  const Domain domain(14);
  StateSet<1> set(0, 0, 1, 1U << 14, domain);
  unsigned inserted = 0;
  for (std::uint64_t word = 0; word < 1U << 14; ++word)
    inserted += set.insert({{word}}, fingerprint(State<1>{{word}}, 9, domain));
  for (std::uint64_t word = 0; word < 1U << 14; ++word)
    inserted += set.insert({{word}}, fingerprint(State<1>{{word}}, 9, domain));
  EXPECT_EQ(inserted, 1U << 14);
}

TEST(StateSet, StatesOfThirtyBits_TakeFewerThanFourBytesEach) {
  const Domain domain(30);
  StateSet<1> set(0, 0, 1, 65'000, domain);
  const auto hash_of = [&](const auto& state) { return fingerprint(state, 0, domain); };
  EXPECT_EQ(mistakes(set, 150'000, 1, hash_of), 0U);
  EXPECT_LT(set.bytes(), 4 * set.size());
}

TEST(StateSet, MoreStatesThanExpected_OfFewBits_FindRoom) {
  const Domain domain(18);
  StateSet<1> set(0, 0, 1, 1'000, domain);
  const auto hash_of = [&](const auto& state) { return fingerprint(state, 0, domain); };
  EXPECT_EQ(mistakes(set, 300'000, 1, hash_of), 0U);
}

TEST(StateSet, FewerStatesThanExpected_OfFewBits_AreHeld) {
  const Domain domain(20);
  StateSet<1> set(0, 0, 1, 1e9, domain);
  const auto hash_of = [&](const auto& state) { return fingerprint(state, 0, domain); };
  EXPECT_EQ(mistakes(set, 20'000, 1, hash_of), 0U);
}

TEST(StateSet, EqualFingerprints_AreToldApartByUpperWords) {
  StateSet<2> set(2, 0, 1);
  unsigned inserted = 0;
  for (std::uint64_t upper = 0; upper < 2000; ++upper) inserted += set.insert({{0, upper}}, 42);
  EXPECT_EQ(inserted, 2000U);
  EXPECT_FALSE(set.insert({{0, 1999}}, 42));
}

TEST(StateSet, FingerprintsThatDifferInOneBit_AreTwo) {
  StateSet<1> set(0, 0, 1);
  unsigned inserted = 0;
  for (std::uint64_t hash = 0; hash < 3000; ++hash) inserted += set.insert({{hash}}, hash);
  EXPECT_EQ(inserted, 3000U);
}

TEST(StateSet, FingerprintsInOneCorner_FindRoom) {
  StateSet<1> set(0, 0, 1);
  const auto corner = [](const State<1>& state) { return ~state.words[0]; };
  EXPECT_EQ(mistakes(set, 3'000, 1, corner), 0U);
}

TEST(StateSet, Shares_CoverAllFingerprints) {
  for (const std::uint64_t hash :
       {std::uint64_t{0}, ~std::uint64_t{0} / 3, ~std::uint64_t{0} / 3 + 1,
        ~std::uint64_t{0} / 3 * 2 + 1, ~std::uint64_t{0}}) {
    StateSet<1> set(0, StateSet<1>::share_of(hash, 3), 3);
    EXPECT_TRUE(set.insert({{1}}, hash));
    EXPECT_FALSE(set.insert({{1}}, hash));
  }
}

TEST(StateSet, Shares_CoverAllFingerprintsOfFewBits) {
  const Domain domain(12);
  unsigned inserted = 0;
  for (unsigned share = 0; share < 16; ++share) {
    StateSet<1> set(0, share, 16, 0, domain);
    for (std::uint64_t word = 0; word < 1U << 12; ++word) {
      const std::uint64_t hash = fingerprint(State<1>{{word}}, 0, domain);
      if (StateSet<1>::share_of(hash, 16) == share) inserted += set.insert({{word}}, hash);
    }
  }
  EXPECT_EQ(inserted, 1U << 12);
}

TEST(StateSet, AQuarterOfAMillionOfAMillion_TakeFewerThanTwoBytesEach) {
  const Domain domain(20);
  StateSet<1> set(0, 0, 1, 250'000, domain);
  for (std::uint64_t i = 0; i < 250'000; ++i)
    set.insert({{i}}, fingerprint(State<1>{{i}}, 0, domain));
  EXPECT_LT(set.bytes(), 500'000U);
  EXPECT_NEAR(static_cast<double>(set.bytes()), StateSet<1>::bytes_for(250'000, 0, domain), 4'096);
}

TEST(StateSet, AQuarterOfAMillionFingerprints_TakeFewerThanTenBytesEach) {
  StateSet<1> set(0, 0, 1);
  for (std::uint64_t i = 0; i < 250'000; ++i) set.insert({{i}}, fingerprint(State<1>{{i}}, 0));
  EXPECT_LT(set.bytes(), 2'500'000U);
}

class Permutation : public ::testing::TestWithParam<unsigned> {};

TEST_P(Permutation, GivesEachWordOfItsBitsAnother) {
  const Domain domain(GetParam());
  std::set<std::uint64_t> images;
  std::uint64_t beyond = 0;
  for (std::uint64_t word = 0; word < std::uint64_t{1} << GetParam(); ++word) {
    images.insert(domain.permuted(word));
    beyond |= domain.permuted(word) << GetParam();
  }
  EXPECT_EQ(images.size(), std::size_t{1} << GetParam());
  EXPECT_EQ(beyond, 0U);
}

INSTANTIATE_TEST_SUITE_P(Bits, Permutation, ::testing::Values(1U, 2U, 9U, 14U));

}  // namespace
}  // namespace portcullis::failover
