// SPDX-License-Identifier: BSD-3-Clause
//
// A lease on a function that its kernel driver keeps: what a fence may say of it, with a device
// that answers and with a kernel that answers in its place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "devx/function.hpp"
#include "lease/lease_manager.hpp"
#include "tests/devx/kernel_fake.hpp"

namespace portcullis::testing {
namespace {

using lease::Outcome;

struct KeptLease : ::testing::Test {
  KeptLease() {
    lease::Host host;
    host.context = &function->context();
    host.next_event = [] { return std::optional<pmd::Event>(); };
    host.fence_slots_available = [this] { return function->channel().fence_slots_available(); };
    lease::LeaseManager::Options options;
    options.table.slots = 4;
    manager = lease::LeaseManager::create(host, options).value();
  }
  void SetUp() override { ASSERT_TRUE(addresses.set(0, {kGid, kMac})); }

  [[nodiscard]] lease::Lease grant() {
    return manager
        ->grant({.bytes = 8192,
                 .peer = {.qpn = prm::QpNumber{0x77}, .psn = 1, .gid = kGid, .mac = kMac}})
        .value()
        .lease;
  }

  KernelFake kernel;
  pmd::RoceAddressTable addresses{kernel.hca().context()};
  std::unique_ptr<devx::Function> function =
      devx::Function::open(kernel.open(), "a kept function").value();
  std::unique_ptr<lease::LeaseManager> manager;
};

TEST_F(KeptLease, RevokedBySeed_IsTornDown) {
  const lease::Lease lease = grant();
  EXPECT_EQ(manager->revoke(lease.id, lease.epoch).outcome, Outcome::TornDown);
}

TEST_F(KeptLease, RevokedWhileTheKernelFakes_IsNeverTornDown) {
  const lease::Lease lease = grant();
  kernel.break_down();
  const lease::RevokeAnswer answer = manager->revoke(lease.id, lease.epoch);
  EXPECT_EQ(answer.outcome, Outcome::Fenced);
  EXPECT_EQ(answer.verdict.proof, lease::Proof::Unmap);
}

}  // namespace
}  // namespace portcullis::testing
