// SPDX-License-Identifier: BSD-3-Clause
//
// Transfers over a wire that loses, repeats, delays, reorders and damages frames by a seed: what
// completed is right, what could not be done is said, nothing is left hanging, and a seed repeats.
#include <gtest/gtest.h>

#include "tests/model/transport/lossy_transfer.hpp"

namespace portcullis::model::testing {
namespace {

struct FaultCase {
  const char* name;
  Words words;
};
class LossyWire : public ::testing::TestWithParam<FaultCase> {};

TEST_P(LossyWire, HundredSeeds_NothingIsWrongAndNothingHangs) {
  const Outcome sum = run_seeds(1, 100, GetParam().words);
  EXPECT_EQ(sum.wrong, 0U);
  EXPECT_EQ(sum.hanging, 0U);
  // Eight tries of a packet in a row fail too seldom to matter.
  EXPECT_GE(sum.succeeded, 100 * Transfer::kMessages * 9 / 10);
}

INSTANTIATE_TEST_SUITE_P(Faults, LossyWire,
                         ::testing::Values(FaultCase{"Loss", {"loss=0.1"}},
                                           FaultCase{"Duplicates", {"duplicate=0.2"}},
                                           FaultCase{"Reordering", {"reorder=0.2"}},
                                           FaultCase{"Corruption", {"corrupt=0.1"}},
                                           FaultCase{"Delay", {"delay-ns=100000"}},
                                           FaultCase{"DelayBeyondTheTimeout", {"delay-ns=2000000"}},
                                           FaultCase{"All",
                                                     {"loss=0.05", "duplicate=0.1", "reorder=0.1",
                                                      "corrupt=0.05", "delay-ns=10000"}}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(LossyWireSeed, SameSeed_SameFramesAtTheSameInstants) {
  const Words words{"loss=0.1", "reorder=0.1", "delay-ns=5000"};
  EXPECT_EQ(Transfer(7, words).run(), Transfer(7, words).run());
}

TEST(LossyWireSeed, AnotherSeed_AnotherRun) {
  const Words words{"loss=0.1", "reorder=0.1", "delay-ns=5000"};
  EXPECT_NE(Transfer(7, words).run(), Transfer(8, words).run());
}

TEST(LossyWireSeed, EverythingLost_EveryMessageFails) {
  const Outcome outcome = Transfer(1, {"loss=1"}).run();
  EXPECT_EQ(outcome.hanging, 0U);
  EXPECT_EQ(outcome.succeeded, 0U);
}

}  // namespace
}  // namespace portcullis::model::testing
