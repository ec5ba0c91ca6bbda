// SPDX-License-Identifier: BSD-3-Clause
//
// A lease on a function that its kernel driver keeps: what a fence may say of it, with a device
// that answers and with a kernel that answers in its place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "lease/fence_plan.hpp"
#include "lease/lease_manager.hpp"
#include "tests/devx/kept_function.hpp"

namespace portcullis::testing {
namespace {

using lease::Outcome;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;

struct KeptLease : KeptFunction {
  KeptLease() {
    lease::LeaseManager::Options options;
    options.table.slots = 4;
    manager = lease::LeaseManager::create(lease::Host::of(*function), options).value();
  }

  lease::Lease grant() { return manager->grant(request).value().lease; }

  lease::GrantRequest request{
      .bytes = 8192, .peer = {.qpn = prm::QpNumber{0x77}, .psn = 1, .gid = kGid, .mac = kMac}};

  std::unique_ptr<lease::LeaseManager> manager;
};

class KeptPlans : public KeptLease, public ::testing::WithParamInterface<const char*> {};

TEST_P(KeptPlans, DeviceThatAnswers_TornDown) {
  const lease::Lease lease = grant();
  const auto answer = manager->revoke(lease.id, lease.epoch, lease::parse_plan(GetParam()).value());
  EXPECT_EQ(answer.outcome, Outcome::TornDown) << describe(answer.verdict);
}

TEST_P(KeptPlans, KernelThatFakes_FencedAndProvedByTheUnmap) {
  const lease::Lease lease = grant();
  kernel.break_down();
  const auto answer = manager->revoke(lease.id, lease.epoch, lease::parse_plan(GetParam()).value());
  EXPECT_EQ(answer.outcome, Outcome::Fenced);
  EXPECT_EQ(answer.verdict.proof, lease::Proof::Unmap) << describe(answer.verdict);
}

TEST_P(KeptPlans, KernelThatFakesAndADomainThatIsNotStrict_FencedAndUnproved) {
  const lease::Lease lease = grant();
  kernel.set_unmap_is_final(false);
  kernel.break_down();
  const auto answer = manager->revoke(lease.id, lease.epoch, lease::parse_plan(GetParam()).value());
  EXPECT_EQ(answer.outcome, Outcome::Fenced);
  EXPECT_EQ(answer.verdict.proof, lease::Proof::None) << describe(answer.verdict);
}

INSTANTIATE_TEST_SUITE_P(Each, KeptPlans,
                         ::testing::Values("seed", "nak-first", "legacy", "access-flags"));

TEST_F(KeptLease, PlanThatUnmapsUnderALiveKey_NoManagerHasIt) {
  lease::LeaseManager::Options options;
  options.plan = lease::drop_only_plan();
  const auto refused = lease::LeaseManager::create(lease::Host::of(*function), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::Unsupported);
}

TEST_F(KeptLease, GrantedTogetherAndRevokedByTheTenantsKey_TornDown) {
  const std::vector<lease::GrantRequest> requests(3, request);
  std::vector<lease::LeaseName> names;
  const auto granted = manager->grant_together(requests).value();
  for (const lease::Grant& made : granted) names.push_back({made.lease.id, made.lease.epoch});
  const auto answers = manager->revoke_batch(names, lease::indirect_plan());
  EXPECT_THAT(answers, Each(Field(&lease::RevokeAnswer::outcome, Outcome::TornDown)));
}

TEST_F(KeptLease, Drained_SaysWhoseBusMasteringIsAndFencesEachInPoll) {
  grant();
  grant();
  const auto drained = manager->drain();
  ASSERT_FALSE(drained);
  EXPECT_THAT(drained.error().text, HasSubstr("the kernel driver's"));
  const auto settled = [this] {
    manager->poll();
    return manager->table().count(lease::State::Revoking) == 0;
  };
  const Device& device = function->context().device;
  EXPECT_TRUE(wait_until(device, device.clock.now_ns() + 60 * kNsPerSecond, settled));
  EXPECT_EQ(manager->table().count(lease::State::Active), 0u);
  EXPECT_EQ(manager->fenced_count(), 0u);
}

}  // namespace
}  // namespace portcullis::testing
