// SPDX-License-Identifier: BSD-3-Clause
//
// What must hold on every device, whatever is behind the BAR: run in this process against the
// model, and by ./dev vm pmd over VFIO against the same model behind a PCI slot and an IOMMU.
#include <gmock/gmock.h>

#include "base/dma_memory.hpp"
#include "pmd/memory_key.hpp"
#include "tests/device/device_world.hpp"

namespace portcullis::testing {
namespace {

using lease::Outcome;
using prm::WcStatus;
using ::testing::Each;
using ::testing::MatchesRegex;

class AnyDevice : public DeviceWorld {};

TEST_F(AnyDevice, BroughtUp_SaysItsFirmware) {
  EXPECT_THAT(hca->firmware_version(), MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_TRUE(hca->poll());
}

TEST_F(AnyDevice, TornDown_NoPageIsLeftWithTheFirmware) {
  EXPECT_GT(hca->firmware_pages(), 0u);
  ASSERT_TRUE(tear_down());
  EXPECT_EQ(hca->firmware_pages(), 0u);
}

TEST_F(AnyDevice, TornDown_ComesUpAgain) {
  ASSERT_TRUE(tear_down());
  bring_up();
  EXPECT_EQ(client().write(device(), 7), WcStatus::SUCCESS);
}

TEST_F(AnyDevice, Granted_WriteLandsInTheLease) {
  Client& a = client();
  EXPECT_EQ(a.write(device(), 0x1122334455667788, 5), WcStatus::SUCCESS);
  EXPECT_EQ(word(a, 5), 0x1122334455667788u);
}

TEST_F(AnyDevice, KeyOfAnotherLease_RefusedAndNothingWritten) {
  Client& a = client();
  Client& b = client();
  a.grant.rkey = b.grant.rkey;
  EXPECT_EQ(a.write(device(), 1), WcStatus::REM_ACCESS_ERR);
  EXPECT_THAT(words(b), Each(0u));
}

TEST_F(AnyDevice, MoreRegionsThanDpdkMaps_EachIsWrittenAndRevoked) {
  constexpr std::uint64_t kLeases = 300;  // DPDK keeps at most 256 user maps
  for (std::uint64_t i = 0; i < kLeases; ++i)
    EXPECT_EQ(client().write(device(), i + 1), WcStatus::SUCCESS);
  for (std::uint64_t i = 0; i < kLeases; ++i) EXPECT_EQ(word(*clients[i]), i + 1);
  for (const auto& one : clients)
    EXPECT_EQ(revoke(*one, lease::seed_plan()).outcome, Outcome::TornDown);
}

/// What is not mapped is not read either: the requester's own memory, taken from the IOMMU.
TEST_F(AnyDevice, SourceUnmapped_WriteFailsAndNothingArrives) {
  Client& a = client();
  ASSERT_EQ(a.write(device(), 5), WcStatus::SUCCESS);
  auto source = DmaMemory::create(*device().dma, kPageBytes).value();
  const auto key =
      pmd::MemoryKey::create_mtt(hca->context(), a.pd, pmd::MemoryRange::zero_based(source), {});
  ASSERT_TRUE(key) << key.error().text;
  ASSERT_TRUE(source.unmap());
  ASSERT_TRUE(a.qp.post_write({.lkey = key->lkey(), .bytes = sizeof(std::uint64_t)},
                              {.remote_address = a.grant.address, .rkey = a.grant.rkey}));
  a.qp.ring();
  EXPECT_NE(a.wait(device()), WcStatus::SUCCESS);
  EXPECT_EQ(word(a), 5u);
}

// ---- what the client sees of each plan, and that the outcome is the end ----

TEST_F(AnyDevice, SeedPlanUnderTraffic_NoByteChangesAndTheClientMeetsSilence) {
  Client& a = client();
  ASSERT_EQ(a.write(device(), 1), WcStatus::SUCCESS);
  for (std::uint64_t i = 0; i < 32; ++i) a.post(100 + i, i);
  ASSERT_EQ(revoke(a, lease::seed_plan()).outcome, Outcome::TornDown);
  const std::vector<std::uint64_t> at_the_outcome = words(a);
  for (std::uint64_t i = 0; i < 8; ++i) a.post(200 + i, i);
  EXPECT_EQ(a.first_failure(device()), WcStatus::RETRY_EXC_ERR);
  EXPECT_EQ(words(a), at_the_outcome);
}

TEST_F(AnyDevice, NakFirstAndWrittenWhileItLingers_RemoteAccessErrorAndNoByteChanges) {
  Client& a = client();
  ASSERT_EQ(a.write(device(), 1), WcStatus::SUCCESS);
  ASSERT_EQ(manager->start_revoke(a.grant.lease.id, a.grant.lease.epoch, lease::nak_first_plan()),
            std::nullopt);
  EXPECT_EQ(a.write(device(), 2), WcStatus::REM_ACCESS_ERR);
  EXPECT_EQ(revoke(a, lease::nak_first_plan()).outcome, Outcome::TornDown);
  EXPECT_EQ(word(a), 1u);
}

class AnyDeviceEachPlan : public DeviceWorld,
                          public ::testing::WithParamInterface<const lease::Plan*> {};

TEST_P(AnyDeviceEachPlan, RevokedUnderTraffic_TheOtherLeaseStillWrites) {
  Client& a = client();
  Client& b = client();
  for (std::uint64_t i = 0; i < 32; ++i) a.post(100 + i, i);
  ASSERT_EQ(revoke(a, *GetParam()).outcome, Outcome::TornDown);
  EXPECT_EQ(b.write(device(), 9), WcStatus::SUCCESS);
  EXPECT_EQ(word(b), 9u);
}

TEST_P(AnyDeviceEachPlan, Revoked_NextWriteFails) {
  Client& a = client();
  ASSERT_EQ(revoke(a, *GetParam()).outcome, Outcome::TornDown);
  EXPECT_NE(a.write(device(), 2), WcStatus::SUCCESS);
}

INSTANTIATE_TEST_SUITE_P(Plans, AnyDeviceEachPlan,
                         ::testing::Values(&lease::seed_plan(), &lease::nak_first_plan(),
                                           &lease::legacy_plan()),
                         [](const auto& info) {
                           std::string name(info.param->name);
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace portcullis::testing
