// SPDX-License-Identifier: BSD-3-Clause
//
// What a lease manager is given of a function: each of its ways to the function leads there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pmd/command_queue.hpp"
#include "tests/lease/lease_world.hpp"

namespace portcullis::lease {
namespace {

using ::portcullis::testing::LeaseWorld;
using ::testing::Contains;

class HostOfAFunction : public LeaseWorld {
 protected:
  void SetUp() override {
    start({});
    manager.reset();
    umr.reset();
    umr_queue.reset();
    addresses.reset();
    hca.reset();
    hca = pmd::Hca::bring_up(device,
                             {.log = [this](std::string_view line) { said.emplace_back(line); }})
              .value();
    of_hca = Host::of(*hca);
  }

  std::vector<std::string> said;
  Host of_hca;
};

TEST_F(HostOfAFunction, Context_IsTheFunctions) { EXPECT_EQ(of_hca.context, &hca->context()); }

TEST_F(HostOfAFunction, Log_IsTheOneOfBringUp) {
  of_hca.log("a line");
  EXPECT_THAT(said, Contains("a line"));
}

TEST_F(HostOfAFunction, FenceSlots_AreTheFunctions) {
  EXPECT_EQ(of_hca.fence_slots_available(), pmd::CommandQueue::kFenceSlots);
}

TEST_F(HostOfAFunction, Events_AreTheFunctions) { EXPECT_FALSE(of_hca.next_event()); }

TEST_F(HostOfAFunction, ToldOfAReset_FunctionIsBroken) {
  ASSERT_TRUE(hca->condition());
  of_hca.on_function_reset();
  EXPECT_FALSE(hca->condition());
}

}  // namespace
}  // namespace portcullis::lease
