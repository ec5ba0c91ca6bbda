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

TEST(StateSet, AQuarterOfAMillionFingerprints_TakeFewerThanTenBytesEach) {
  StateSet<1> set(0, 0, 1);
  for (std::uint64_t i = 0; i < 250'000; ++i) set.insert({{i}}, fingerprint(State<1>{{i}}, 0));
  EXPECT_LT(set.bytes(), 2'500'000U);
}

}  // namespace
}  // namespace portcullis::failover
