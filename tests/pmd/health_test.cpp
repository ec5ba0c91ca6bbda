// SPDX-License-Identifier: BSD-3-Clause
//
// Health against registers that a test writes.
#include "pmd/health.hpp"

#include <gmock/gmock.h>

#include "tests/pmd/scripted_device.hpp"

namespace portcullis::pmd {
namespace {

using portcullis::testing::InitSegment;
using portcullis::testing::ScriptedDevice;
using ::testing::HasSubstr;

struct HealthTest : ::testing::Test {
  void set_counter(std::uint32_t value) { scripted.write(InitSegment::kHealthCounter, value); }
  HealthState poll_after_interval() {
    scripted.now_ns += Health::kPollIntervalNs;
    return health.poll();
  }

  ScriptedDevice scripted;
  Device device = scripted.device();
  Health health{device};
};

TEST_F(HealthTest, QuietDevice_IsGood) {
  EXPECT_EQ(health.check(), HealthState::Good);
  EXPECT_TRUE(health.reason().empty());
}

TEST_F(HealthTest, AllOnes_IsGone) {
  scripted.write(InitSegment::kFwVer, 0xffffffff);
  EXPECT_EQ(health.check(), HealthState::Gone);
  EXPECT_EQ(health.error().code, Errc::DeviceGone);
}

TEST_F(HealthTest, SyndromeWithRfr_FailsWithItsName) {
  scripted.write_byte(InitSegment::kSynd, 0x7);
  scripted.write_byte(InitSegment::kRfrSeverity, 0x80);
  EXPECT_EQ(health.check(), HealthState::Failed);
  EXPECT_EQ(health.error().code, Errc::DeviceFailed);
  EXPECT_THAT(health.reason(), HasSubstr("0x7 (irisc not responding)"));
}

TEST_F(HealthTest, SyndromeWithoutRfr_IsNotFatal) {
  scripted.write_byte(InitSegment::kSynd, 0x10);
  EXPECT_EQ(health.check(), HealthState::Good);
}

TEST_F(HealthTest, RfrWithoutSyndrome_IsNotFatal) {
  scripted.write_byte(InitSegment::kRfrSeverity, 0x80);
  EXPECT_EQ(health.check(), HealthState::Good);
}

TEST_F(HealthTest, DisabledInterface_Fails) {
  scripted.write(InitSegment::kCmdqAddrLSz, 1u << 8);
  EXPECT_EQ(health.check(), HealthState::Failed);
  EXPECT_THAT(health.reason(), HasSubstr("disabled"));
}

TEST_F(HealthTest, InterfaceInReset_Fails) {
  scripted.write(InitSegment::kCmdqAddrLSz, 7u << 8);
  EXPECT_EQ(health.check(), HealthState::Failed);
  EXPECT_THAT(health.reason(), HasSubstr("being reset"));
}

TEST_F(HealthTest, CounterStandingStillForThreePolls_IsStuck) {
  set_counter(5);
  EXPECT_EQ(poll_after_interval(), HealthState::Good);
  EXPECT_EQ(poll_after_interval(), HealthState::Good);
  EXPECT_EQ(poll_after_interval(), HealthState::Good);
  EXPECT_EQ(poll_after_interval(), HealthState::Stuck);
  EXPECT_EQ(health.error().code, Errc::DeviceFailed);
}

TEST_F(HealthTest, CounterThatMovesOnTheThirdPoll_IsGood) {
  set_counter(5);
  poll_after_interval();
  poll_after_interval();
  poll_after_interval();
  set_counter(6);
  EXPECT_EQ(poll_after_interval(), HealthState::Good);
  EXPECT_EQ(poll_after_interval(), HealthState::Good);
}

TEST_F(HealthTest, SyndromeByteAboveTheCounter_IsNotCounted) {
  set_counter(0x0100'0005);
  poll_after_interval();
  for (std::uint32_t i = 2; i < 4; ++i) {
    set_counter(i << 24 | 5);
    EXPECT_EQ(poll_after_interval(), HealthState::Good);
  }
  set_counter(0x0900'0005);
  EXPECT_EQ(poll_after_interval(), HealthState::Stuck);
}

TEST_F(HealthTest, PollsWithinTheInterval_CountOnce) {
  poll_after_interval();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(health.poll(), HealthState::Good);
}

TEST_F(HealthTest, WhatBrokeOnce_StaysBroken) {
  scripted.write_byte(InitSegment::kSynd, 0x1);
  scripted.write_byte(InitSegment::kRfrSeverity, 0x80);
  ASSERT_EQ(health.check(), HealthState::Failed);
  scripted.write_byte(InitSegment::kSynd, 0);
  EXPECT_EQ(health.check(), HealthState::Failed);
  EXPECT_EQ(poll_after_interval(), HealthState::Failed);
}

TEST_F(HealthTest, FirstReason_IsTheOneKept) {
  health.report_failure("first");
  health.report_failure("second");
  EXPECT_EQ(health.reason(), "first");
}

}  // namespace
}  // namespace portcullis::pmd
