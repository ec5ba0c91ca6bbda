// SPDX-License-Identifier: BSD-3-Clause
//
// States by the numbers of their parts: every reachable one comes back as it was, in fewer bits.
#include "failover/explore/collapse.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/failover/support.hpp"

namespace portcullis::failover {
namespace {

using testing::machine_of;
using testing::ModelBounds;

struct Collapsed {
  const char* name;
  const char* model;
  ModelBounds bounds;
};

class Collapses : public ::testing::TestWithParam<Collapsed> {
 protected:
  Machine machine_ = machine_of(GetParam().model, GetParam().bounds);
  std::unique_ptr<const Collapse> collapse_ = Collapse::of(machine_);
};

TEST_P(Collapses, EveryReachableState_ComesBack) {
  ASSERT_NE(collapse_, nullptr);
  std::size_t changed = 0;
  for (const AnyState& state : testing::reachable(machine_))
    changed += collapse_->whole(collapse_->numbered<kMaxStateWords>(state)) != state;
  EXPECT_EQ(changed, 0U);
}

TEST_P(Collapses, States_TakeFewerBits) {
  ASSERT_NE(collapse_, nullptr);
  EXPECT_LT(collapse_->view().bits, machine_.bits);
  EXPECT_LE(collapse_->view().state_words, machine_.state_words);
}

TEST_P(Collapses, NumberedStates_LieInTheBitsOfTheView) {
  ASSERT_NE(collapse_, nullptr);
  std::uint64_t beyond = 0;
  for (const AnyState& state : testing::reachable(machine_))
    beyond |= collapse_->numbered<kMaxStateWords>(state).words[0] >> collapse_->view().bits;
  EXPECT_EQ(beyond, 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Models, Collapses,
    ::testing::Values(
        Collapsed{"ClientsApart", "lease", {.clients = 2, .is_monitored = false}},
        Collapsed{"Monitored", "lease", {.clients = 2, .environment = Environment::Reuse}},
        Collapsed{
            "OneWordForAll", "blind-fadd", {.clients = 3, .duplicates = 1, .is_monitored = false}},
        Collapsed{"OtherWriters",
                  "psn-token",
                  {.clients = 2, .environment = Environment::OtherWriters, .is_monitored = false}}),
    [](const auto& info) { return info.param.name; });

class DoesNotCollapse : public ::testing::TestWithParam<Collapsed> {};

TEST_P(DoesNotCollapse, PartsThatAreNotApart_StayAsTheyAre) {
  EXPECT_EQ(Collapse::of(machine_of(GetParam().model, GetParam().bounds)), nullptr);
}

INSTANTIATE_TEST_SUITE_P(
    Models, DoesNotCollapse,
    ::testing::Values(Collapsed{"OneClient", "lease", {.is_monitored = false}},
                      Collapsed{"History", "blind-read", {.clients = 2}},
                      Collapsed{"Tags",
                                "tagged-help-cas",
                                {.clients = 2, .operations = 2, .is_monitored = false}},
                      Collapsed{"WritersOfOwnCells",
                                "lease",
                                {.clients = 2, .environment = Environment::OtherWriters}}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace portcullis::failover
