// SPDX-License-Identifier: BSD-3-Clause
//
// The same on a device that runs on a core of its own, at its own pace.
#include <gtest/gtest.h>

#include "tests/lease/lease_world.hpp"

namespace portcullis::lease {
namespace {

using ::portcullis::testing::Client;
using ::portcullis::testing::LeaseWorld;
using prm::WcStatus;

class PolledRevoke : public LeaseWorld, public ::testing::WithParamInterface<const Plan*> {
 protected:
  // A loaded machine may keep the model off its core for longer than a fence may take.
  void SetUp() override {
    start({.fence = {.deadline_ms = 60'000}, .grant = {.deadline_ms = 60'000}}, "instant",
          model::Execution::Polled);
  }
};

TEST_P(PolledRevoke, UnderTraffic_NoByteChangesAfterTheOutcome) {
  Client& a = client();
  ASSERT_EQ(a.write(device, 1), WcStatus::SUCCESS);
  for (std::uint64_t i = 0; i < 48; ++i) a.post(100 + i, i);
  ASSERT_EQ(revoke(a, *GetParam()).outcome, Outcome::TornDown);
  const auto at_outcome = words(a);
  for (std::uint64_t i = 0; i < 8; ++i) a.post(200 + i, i);
  EXPECT_NE(a.first_failure(device), WcStatus::SUCCESS);
  EXPECT_EQ(words(a), at_outcome);
}

TEST_P(PolledRevoke, OneOfTwo_TheOtherLosesNothing) {
  Client& a = client();
  Client& b = client(/*ack_timeout=*/14, /*retry_count=*/7);
  for (std::uint64_t i = 0; i < 16; ++i) b.post(i + 1, i);
  ASSERT_EQ(revoke(a, *GetParam()).outcome, Outcome::TornDown);
  EXPECT_EQ(b.write(device, 77, 20), WcStatus::SUCCESS);
}

INSTANTIATE_TEST_SUITE_P(Plans, PolledRevoke, ::testing::Values(&seed_plan(), &nak_first_plan()),
                         [](const auto& info) {
                           std::string name(info.param->name);
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace portcullis::lease
