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

/// struct health_buffer of linux/mlx5/device.h, at 0x200 of the initialisation segment.
TEST_F(HealthTest, Failure_IsToldWithWhatTheFirmwareLeftForItsMaker) {
  for (std::size_t i = 0; i < 6; ++i)
    scripted.write(0x200 + 4 * i, static_cast<std::uint32_t>(0xa0 + i));
  scripted.write(0x220, 0xbeef);
  scripted.write(0x224, 0xcafe);
  scripted.write(0x234, 0x20d);
  scripted.write_byte(0x23c, 0x5);
  scripted.write_byte(InitSegment::kSynd, 0x1);
  scripted.write_byte(InitSegment::kRfrSeverity, 0x80);
  EXPECT_EQ(health.check(), HealthState::Failed);
  EXPECT_THAT(health.reason(),
              HasSubstr("; assert_var 0xa0 0xa1 0xa2 0xa3 0xa4 0xa5, assert_exit_ptr 0xbeef, "
                        "assert_callra 0xcafe, hw_id 0x20d, irisc_index 0x5"));
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
