// SPDX-License-Identifier: BSD-3-Clause
//
// What one WRITE meets, and that whatever stopped it is taken away again, come what may.
#include "steering/self_test.hpp"

#include <gtest/gtest.h>

#include "prm/opcodes.hpp"
#include "tests/steering/steering_world.hpp"

namespace portcullis::testing {
namespace {

class Trials : public SteeringWorld {
 protected:
  void SetUp() override {
    start(in_path());
    connect();
  }
  Result<steering::Trial> try_with(const Result<void>& putting) {
    const steering::Stop stop{[putting] { return putting; },
                              [this]() -> Result<void> {
                                ++taken;
                                return {};
                              }};
    return steering::try_write(*pair, stop, 1, {.loopback = path});
  }
  int taken = 0;
};

TEST_F(Trials, StopThatStopsNothing_IsNoSilence) {
  EXPECT_FALSE(try_with({})->silenced);
  EXPECT_EQ(taken, 1);
}

TEST_F(Trials, StopThatCouldNotBePutThere_IsTakenAwayAndTold) {
  EXPECT_EQ(try_with(fail(Errc::Timeout, "half way through")).error().text, "half way through");
  EXPECT_EQ(taken, 1);
  EXPECT_EQ(pair->word(), 0U);
}

}  // namespace
}  // namespace portcullis::testing
