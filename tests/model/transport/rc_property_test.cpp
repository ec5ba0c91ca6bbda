// SPDX-License-Identifier: BSD-3-Clause
//
// Random operations of every kind, each run held against a reference that knows only what RC
// promises about memory: a few of every kind of wire here, ten thousand at 10 % loss in
// rc_runs_test.cpp.
#include <gmock/gmock.h>

#include "tests/model/transport/rc_run.hpp"

namespace portcullis::model::testing {
namespace {

struct WireCase {
  const char* name;
  std::vector<std::string> words;
};
class RcPropertyTest : public ::testing::TestWithParam<WireCase> {};

TEST_P(RcPropertyTest, HundredSeeds_NothingIsWrongAndNothingHangs) {
  const RcVerdict sum = run_rc_seeds(1, 100, GetParam().words);
  EXPECT_THAT(sum.faults, ::testing::IsEmpty());
  // Eight tries of a packet in a row fail too seldom to matter.
  EXPECT_GE(sum.succeeded, 100 * RcRun::kOperations * 8 / 10);
}

INSTANTIATE_TEST_SUITE_P(Wires, RcPropertyTest,
                         ::testing::Values(WireCase{"Perfect", {}}, WireCase{"Loss", {"loss=0.1"}},
                                           WireCase{"Duplicates", {"duplicate=0.2"}},
                                           WireCase{"Reordering", {"reorder=0.2"}},
                                           WireCase{"Corruption", {"corrupt=0.1"}},
                                           WireCase{"Delay", {"delay-ns=100000"}},
                                           WireCase{"All",
                                                    {"loss=0.05", "duplicate=0.1", "reorder=0.1",
                                                     "corrupt=0.05", "delay-ns=10000"}}),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(RcProperty, EverythingLost_NothingHappensAndEverythingFails) {
  const RcVerdict verdict = RcRun(1, {"loss=1"}).run();
  EXPECT_THAT(verdict.faults, ::testing::IsEmpty());
  EXPECT_EQ(verdict.succeeded, 0U);
}

}  // namespace
}  // namespace portcullis::model::testing
