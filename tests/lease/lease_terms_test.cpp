// SPDX-License-Identifier: BSD-3-Clause
//
// Ends of leases against a sorted set, which is too large for thousands but hard to get wrong.
#include "lease/lease_terms.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace portcullis::lease {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(LeaseTerms, EndsCome_TheEarliestFirstAndEachOnce) {
  LeaseTerms terms(4);
  terms.set(0, 30);
  terms.set(1, 10);
  terms.set(2, 20);
  EXPECT_THAT(terms.take_ended(9), IsEmpty());
  EXPECT_THAT(terms.take_ended(20), ElementsAre(1, 2));
  EXPECT_THAT(terms.take_ended(100), ElementsAre(0));
  EXPECT_THAT(terms.take_ended(100), IsEmpty());
}

TEST(LeaseTerms, RenewedLease_EndsAtItsLastTermAlone) {
  LeaseTerms terms(4);
  terms.set(3, 10);
  terms.set(3, 50);
  EXPECT_THAT(terms.take_ended(49), IsEmpty());
  EXPECT_THAT(terms.take_ended(50), ElementsAre(3));
}

TEST(LeaseTerms, LeaseWithoutATerm_DoesNotEnd) {
  LeaseTerms terms(4);
  terms.set(1, 10);
  terms.clear(1);
  terms.clear(2);
  EXPECT_THAT(terms.take_ended(~std::uint64_t{0}), IsEmpty());
}

TEST(LeaseTerms, TermUpToTheClocksEnd_IsNone) {
  LeaseTerms terms(4);
  terms.set(1, std::numeric_limits<std::uint64_t>::max());
  terms.set(1, 10);
  terms.set(1, std::numeric_limits<std::uint64_t>::max());
  terms.set(1, 20);
  EXPECT_THAT(terms.take_ended(30), ElementsAre(1));
  EXPECT_THAT(terms.take_ended(~std::uint64_t{0}), IsEmpty());
}

/// The same by a set of pairs.
class SortedTerms {
 public:
  void set(std::uint32_t slot, std::uint64_t end_ns) {
    clear(slot);
    ends_[slot] = end_ns;
    order_.emplace(end_ns, slot);
  }
  void clear(std::uint32_t slot) {
    order_.erase({ends_[slot], slot});
    ends_.erase(slot);
  }
  std::vector<std::uint32_t> take_ended(std::uint64_t now_ns) {
    std::vector<std::uint32_t> ended;
    while (!order_.empty() && order_.begin()->first <= now_ns) {
      ended.push_back(order_.begin()->second);
      clear(ended.back());
    }
    return ended;
  }

 private:
  std::map<std::uint32_t, std::uint64_t> ends_;
  std::set<std::pair<std::uint64_t, std::uint32_t>> order_;
};

class RandomTerms : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(RandomTerms, SetClearedAndRenewed_EndAsInASortedSet) {
  constexpr std::uint32_t kSlots = 60;
  std::mt19937 random(GetParam());
  LeaseTerms terms(kSlots);
  SortedTerms sorted;
  for (std::uint64_t now_ns = 1; now_ns < 2000; now_ns += random() % 3) {
    const auto renewed = static_cast<std::uint32_t>(random() % kSlots);
    const std::uint64_t end_ns = now_ns + random() % 200;
    terms.set(renewed, end_ns);
    sorted.set(renewed, end_ns);
    const auto cleared = static_cast<std::uint32_t>(random() % kSlots);
    terms.clear(cleared);
    sorted.clear(cleared);
    ASSERT_EQ(terms.take_ended(now_ns), sorted.take_ended(now_ns)) << "at " << now_ns;
  }
  EXPECT_EQ(terms.take_ended(10'000), sorted.take_ended(10'000));
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomTerms, ::testing::Range(1U, 21U));

}  // namespace
}  // namespace portcullis::lease
