// SPDX-License-Identifier: BSD-3-Clause
//
// An InfiniBand port whose subnet manager is on the wire: what its Set of PortInfo, which the
// driver hands over by MAD_IFC, makes of the port.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/port_link.hpp"
#include "prm/vport_commands.hpp"
#include "tests/model/event_queue.hpp"
#include "tests/model/mini_driver.hpp"
#include "tests/model/subnet_datagram.hpp"

namespace portcullis::model::testing {
namespace {

using prm::Opcode;

constexpr std::uint64_t kLongNs = 60 * kNsPerSecond;

Options with_outside_sm() {
  Options options;
  options.port_type = PortType::InfiniBand;
  options.behaviours = {"outside-sm"};
  return options;
}

class OutsideSm : public ::testing::Test {
 protected:
  OutsideSm() {
    driver_.bring_up();
    driver_.pass(PortLink::kTrainingNs + kNsPerMs);
  }

  /// Get or Set of PortInfo, or of another attribute; `status` of the answer, its data in info_.
  std::uint32_t smp(std::uint8_t method, const Info& info, std::uint32_t modifier = 1,
                    std::uint16_t attribute = 0x15) {
    const SubnetAnswer answer = testing::smp(driver_, method, info, modifier, attribute);
    info_ = answer.info;
    return answer.status;
  }
  /// What the port says of itself, to be changed and set.
  Info present() {
    EXPECT_EQ(smp(1, {}), 0U);
    Info info = info_;
    info.set<"port_state", 0>();
    return info;
  }
  std::uint32_t set(const Info& info) { return smp(2, info); }
  std::uint32_t set_state(PortState state) {
    Info info = present();
    info.put<"port_state">(prm::number(state));
    return set(info);
  }
  void give_lid(std::uint16_t lid = 5) {
    Info info = present();
    info.put<"lid">(lid).put<"sm_lid">(std::uint16_t{9});
    ASSERT_EQ(set(info), 0U);
  }
  prm::Buffer<prm::hca_vport_context> vport() {
    const Answer answer = driver_.run<prm::query_hca_vport_context_out>(
        command<prm::query_hca_vport_context_in>(Opcode::QUERY_HCA_VPORT_CONTEXT));
    prm::Buffer<prm::hca_vport_context> context;
    std::ranges::copy(answer.as<prm::query_hca_vport_context_out>().bytes<"hca_vport_context">(),
                      context.all().begin());
    return context;
  }
  Answer change_capabilities(std::uint32_t mask, std::uint32_t which) {
    auto in = command<prm::modify_hca_vport_context_in>(Opcode::MODIFY_HCA_VPORT_CONTEXT);
    in.put<"hca_vport_context.cap_mask1">(mask).put<"hca_vport_context.cap_mask1_field_select">(
        which);
    return driver_.run<prm::modify_hca_vport_context_out>(in);
  }
  std::uint32_t state() { return vport().get<"port_state">(); }

  MiniDriver driver_{with_outside_sm()};
  Info info_;
};

TEST_F(OutsideSm, NobodyComes_PortStaysInInit) {
  driver_.pass(kLongNs);
  EXPECT_EQ(state(), prm::number(PortState::Init));
  EXPECT_EQ(vport().get<"lid">(), 0U);
}

TEST_F(OutsideSm, LidThenArmedThenActive_PortIsActive) {
  EventQueue queue(driver_, {prm::EventType::PORT_CHANGE});
  give_lid();
  ASSERT_EQ(set_state(PortState::Armed), 0U);
  EXPECT_EQ(state(), prm::number(PortState::Armed));
  ASSERT_EQ(set_state(PortState::Active), 0U);
  EXPECT_EQ(state(), prm::number(PortState::Active));
  EXPECT_EQ(vport().get<"lid">(), 5U);
  EXPECT_EQ(vport().get<"sm_lid">(), 9U);
  EXPECT_TRUE(queue.poll());  // LID
  EXPECT_TRUE(queue.poll());  // ACTIVE
  EXPECT_FALSE(queue.poll());
}

TEST_F(OutsideSm, WhatIsWritten_IsReadBack) {
  Info info = present();
  info.put<"lid">(std::uint16_t{5}).put<"gid_prefix">(std::uint64_t{0xfec0000000000007});
  info.set<"subnet_timeout", 11>();
  info.set<"master_sm_sl", 3>();
  info.set<"neighbor_mtu", 4>();
  info.set<"operational_vls", 2>();
  info.set<"mkey_protection", 2>();
  info.put<"mkey">(std::uint64_t{0x1122334455667788});
  info.put<"mkey_lease_period">(std::uint16_t{77});
  ASSERT_EQ(set(info), 0U);
  Info read = present();
  EXPECT_THAT(read.all(), ::testing::ElementsAreArray(info.all()));
  EXPECT_EQ(vport().get<"subnet_timeout">(), 11U);
  EXPECT_EQ(vport().get<"sm_sl">(), 3U);
}

TEST_F(OutsideSm, NewPrefix_IsInTheGidTableAndHeardOf) {
  give_lid();
  EventQueue queue(driver_, {prm::EventType::PORT_CHANGE});
  Info info = present();
  info.put<"gid_prefix">(std::uint64_t{0xfec0000000000007});
  ASSERT_EQ(set(info), 0U);
  auto in = command<prm::query_hca_vport_gid_in>(Opcode::QUERY_HCA_VPORT_GID);
  const Answer answer = driver_.execute(in.all(), prm::query_hca_vport_gid_out::bytes + 16);
  EXPECT_EQ(answer.out[16 + 1], std::byte{0xc0});
  EXPECT_EQ(answer.out[16 + 7], std::byte{7});
  EXPECT_TRUE(queue.poll());
  EXPECT_FALSE(queue.poll());
}

TEST_F(OutsideSm, PkeysThatAreSet_AreInTheTableAndHeardOfOnce) {
  constexpr std::uint16_t kPkeyTable = 0x16;
  Info keys;
  keys.all()[0] = keys.all()[1] = std::byte{0xff};
  keys.all()[2] = std::byte{0x80};
  keys.all()[3] = std::byte{0x01};
  EventQueue queue(driver_, {prm::EventType::PORT_CHANGE});
  EXPECT_EQ(smp(2, keys, 0, kPkeyTable), 0U);
  EXPECT_TRUE(queue.poll());
  EXPECT_EQ(smp(2, keys, 0, kPkeyTable), 0U);
  EXPECT_FALSE(queue.poll());
  EXPECT_EQ(smp(1, {}, 0, kPkeyTable), 0U);
  EXPECT_TRUE(std::ranges::equal(info_.all(), keys.all()));
  auto in = command<prm::query_hca_vport_pkey_in>(Opcode::QUERY_HCA_VPORT_PKEY);
  in.set<"pkey_index", 1>();
  const Answer answer = driver_.execute(in.all(), prm::query_hca_vport_pkey_out::bytes + 4);
  EXPECT_EQ(answer.out[16 + 2], std::byte{0x80});
  EXPECT_EQ(answer.out[16 + 3], std::byte{0x01});
}

TEST_F(OutsideSm, PkeysOfALaterBlock_AreBehindThoseOfTheFirst) {
  constexpr std::uint16_t kPkeyTable = 0x16;
  Info keys;
  keys.all()[63] = std::byte{0x09};
  EXPECT_EQ(smp(2, keys, 3, kPkeyTable), 0U);
  EXPECT_NE(smp(2, keys, 4, kPkeyTable), 0U);
  auto in = command<prm::query_hca_vport_pkey_in>(Opcode::QUERY_HCA_VPORT_PKEY);
  in.set<"pkey_index", 0xffff>();
  const Answer answer = driver_.execute(in.all(), prm::query_hca_vport_pkey_out::bytes + 128 * 4);
  EXPECT_EQ(answer.out[16 + 2], std::byte{0xff});
  EXPECT_EQ(answer.out[16 + 127 * 4 + 3], std::byte{0x09});
}

TEST_F(OutsideSm, ZeroInAnEnumeratedField_LeavesItAsItIs) {
  Info info;
  info.put<"lid">(std::uint16_t{5});
  ASSERT_EQ(set(info), 0U);
  EXPECT_EQ(info_.get<"neighbor_mtu">(), 5U);
  EXPECT_EQ(info_.get<"operational_vls">(), 4U);
  EXPECT_EQ(info_.get<"port_state">(), prm::number(PortState::Init));
}

TEST_F(OutsideSm, ActiveBeforeArmed_IsABadValueAndChangesNothing) {
  Info info = present();
  info.put<"lid">(std::uint16_t{5}).put<"port_state">(prm::number(PortState::Active));
  EXPECT_EQ(set(info), 0x1cU);  // IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE
  EXPECT_EQ(state(), prm::number(PortState::Init));
  EXPECT_EQ(vport().get<"lid">(), 0U);
}

TEST_F(OutsideSm, StateThatIsNone_IsABadValue) {
  give_lid();
  EXPECT_EQ(set_state(PortState::Init), 0x1cU);
  EXPECT_EQ(set_state(PortState{7}), 0x1cU);
}

TEST_F(OutsideSm, LidOfAGroupOrNone_IsABadValue) {
  Info info = present();
  EXPECT_EQ(set(info), 0x1cU);
  info.put<"lid">(std::uint16_t{0xc000});
  EXPECT_EQ(set(info), 0x1cU);
  info.put<"lid">(std::uint16_t{0xbfff});
  EXPECT_EQ(set(info), 0U);
}

TEST_F(OutsideSm, ClientsAreToRegisterAgain_DriverHearsOfIt) {
  give_lid();
  EventQueue queue(driver_, {prm::EventType::PORT_CHANGE});
  Info info = present();
  info.set<"client_reregister", 1>();
  ASSERT_EQ(set(info), 0U);
  EXPECT_TRUE(queue.poll());
  EXPECT_FALSE(queue.poll());
}

TEST_F(OutsideSm, AgentsOfTheHost_AreInItsCapabilities) {
  constexpr std::uint32_t kSm = 1U << 1, kCm = 1U << 16;  // IB_PORT_SM, IB_PORT_CM_SUP
  const auto on = [&] { return present().get<"cap_mask">() & (kSm | kCm); };
  EXPECT_EQ(on(), 0U);
  EXPECT_EQ(vport().get<"cap_mask1_field_select">() & (kSm | kCm), kSm | kCm);
  // mlx5_ib_modify_port gives all bits that it does not clear, and selects those it means.
  EXPECT_TRUE(change_capabilities(0xffffffff, kSm).ok());
  EXPECT_EQ(on(), kSm);
  EXPECT_TRUE(change_capabilities(0xffffffff, kCm).ok());
  EXPECT_EQ(on(), kSm | kCm);
  EXPECT_EQ(vport().get<"cap_mask1">() & (kSm | kCm), kSm | kCm);
  EXPECT_TRUE(change_capabilities(~kSm, kSm).ok());
  EXPECT_EQ(on(), kCm);
  EXPECT_TRUE(change_capabilities(0, 0).ok());
  EXPECT_EQ(on(), kCm);
}

TEST_F(OutsideSm, CapabilityThatNobodyMayChange_Refused) {
  EXPECT_EQ(change_capabilities(0, 1U << 25).status, prm::CommandStatus::BAD_PARAM_ERR);
}

/// opensm and ibportstate ask so.
TEST_F(OutsideSm, ManagerThatKnowsExtendedSpeeds_IsObeyed) {
  constexpr std::uint32_t kKnowsExtendedSpeeds = std::uint32_t{1} << 31;
  Info info = present();
  info.set<"lid", 5>();
  EXPECT_EQ(smp(2, info, kKnowsExtendedSpeeds | 1), 0U);
  EXPECT_EQ(vport().get<"lid">(), 5U);
  EXPECT_EQ(smp(1, {}, kKnowsExtendedSpeeds), 0U);
  EXPECT_NE(smp(1, {}, kKnowsExtendedSpeeds | 2), 0U);
}

/// As ibportstate of infiniband-diags sets it.
TEST_F(OutsideSm, Disabled_StaysDownUntilItIsToPollAgain) {
  give_lid();
  Info info = present();
  info.set<"port_physical_state", 3>();
  ASSERT_EQ(set(info), 0U);
  EXPECT_EQ(vport().get<"port_physical_state">(), 3U);
  driver_.pass(kLongNs);
  EXPECT_EQ(state(), prm::number(PortState::Down));
  info = present();
  info.set<"port_physical_state", 2>().set<"lid", 5>();
  ASSERT_EQ(set(info), 0U);
  EXPECT_EQ(vport().get<"port_physical_state">(), 2U);
  driver_.pass(PortLink::kTrainingNs + kNsPerMs);
  EXPECT_EQ(state(), prm::number(PortState::Init));
}

TEST_F(OutsideSm, DisabledAndThenTakenDown_StaysDisabled) {
  give_lid();
  Info info = present();
  info.set<"port_physical_state", 3>();
  ASSERT_EQ(set(info), 0U);
  info.set<"port_physical_state", 0>().put<"port_state">(prm::number(PortState::Down));
  ASSERT_EQ(set(info), 0U);
  driver_.pass(kLongNs);
  EXPECT_EQ(vport().get<"port_physical_state">(), 3U);
}

TEST_F(OutsideSm, TakenDown_TrainsAgain) {
  give_lid();
  ASSERT_EQ(set_state(PortState::Armed), 0U);
  ASSERT_EQ(set_state(PortState::Active), 0U);
  ASSERT_EQ(set_state(PortState::Down), 0U);
  EXPECT_EQ(state(), prm::number(PortState::Down));
  driver_.pass(PortLink::kTrainingNs + kNsPerMs);
  EXPECT_EQ(state(), prm::number(PortState::Init));
}

}  // namespace
}  // namespace portcullis::model::testing
