// SPDX-License-Identifier: BSD-3-Clause
//
// The port's commands, byte for byte against the kernel's mlx5_ifc.h, and the wait for its link.
#include "pmd/port.hpp"

#include <gmock/gmock.h>

#include "pmd/infiniband_port.hpp"
#include "tests/pmd/object_rig.hpp"

namespace portcullis::pmd {
namespace {

using portcullis::testing::IfcMessage;
using portcullis::testing::ObjectRig;

// MLX5_CMD_OP_* of mlx5_ifc.h and MLX5_REG_PAOS of driver.h.
constexpr unsigned kQueryVportState = 0x750;
constexpr unsigned kQueryHcaVportContext = 0x762;
constexpr unsigned kAccessReg = 0x805;
constexpr unsigned kPaos = 0x5006;
constexpr unsigned kPmtu = 0x5003;
constexpr unsigned kModifyNicVportContext = 0x755;

struct PortCommands : ::testing::Test, ObjectRig {
  void answer_state(unsigned admin, unsigned state) {
    channel.answer(
        kQueryVportState,
        IfcMessage("query_vport_state_out", 16).put("admin_state", admin).put("state", state));
  }
};

TEST_F(PortCommands, SetPortUp_WritesPaosAsLinuxDoes) {
  ASSERT_TRUE(set_port_up(channel).has_value());
  const auto header = IfcMessage("access_register_in", 16)
                          .put("opcode", kAccessReg)
                          .put("op_mod", 0)
                          .put("register_id", kPaos)
                          .bytes();
  const auto paos = IfcMessage("paos_reg", 16)
                        .put("local_port", 1)
                        .put("admin_status", 1)  // MLX5_PORT_UP
                        .put("ase", 1)
                        .bytes();
  std::vector<std::byte> expected = header;
  expected.insert(expected.end(), paos.begin(), paos.end());
  EXPECT_EQ(channel.last(), expected);
}

TEST_F(PortCommands, FrameLimit_GoesToPmtuAndToTheVportAsInLinux) {
  ASSERT_TRUE(set_frame_limit(channel, 4214).has_value());
  EXPECT_EQ(channel.last(), IfcMessage("modify_nic_vport_context_in", 512)
                                .put("opcode", kModifyNicVportContext)
                                .put("field_select.mtu", 1)
                                .put("nic_vport_context.mtu", 4214)
                                .bytes());
}

TEST_F(PortCommands, FrameLimits_AreAskedForByTheRegisterOfPortOne) {
  ASSERT_TRUE(query_frame_limits(channel).has_value());
  const auto header = IfcMessage("access_register_in", 16)
                          .put("opcode", kAccessReg)
                          .put("op_mod", 1)
                          .put("register_id", kPmtu)
                          .bytes();
  const auto pmtu = IfcMessage("pmtu_reg", 16).put("local_port", 1).bytes();
  std::vector<std::byte> expected = header;
  expected.insert(expected.end(), pmtu.begin(), pmtu.end());
  EXPECT_EQ(channel.last(), expected);
}

TEST_F(PortCommands, Address_StandsBehindTheContextAsAListOfOne) {
  ASSERT_TRUE(announce_address(channel, {{2, 0x50, 0x43, 0, 0, 9}}).has_value());
  std::vector<std::byte> expected = IfcMessage("modify_nic_vport_context_in", 512)
                                        .put("opcode", kModifyNicVportContext)
                                        .put("field_select.addresses_list", 1)
                                        .put("nic_vport_context.allowed_list_type", 0)
                                        .put("nic_vport_context.allowed_list_size", 1)
                                        .bytes();
  for (const int octet : {0, 0, 2, 0x50, 0x43, 0, 0, 9})
    expected.push_back(static_cast<std::byte>(octet));
  EXPECT_EQ(channel.last(), expected);
}

// A netdev of 4200 is what Linux asks of whoever wants a path MTU of 4096 (iboe_get_mtu), and its
// port then carries 4222.
TEST_F(PortCommands, PathMtu_FitsTheFramesOrIsRefusedWithTheGreatestThatDoes) {
  context.frame_bytes = 1522;
  EXPECT_TRUE(check_path_mtu(context, prm::QpcMtu::MTU_1024).has_value());
  EXPECT_EQ(check_path_mtu(context, prm::QpcMtu::MTU_4096).error().text,
            "path MTU 4096: its packets are up to 4214 bytes and the port's frames 1522 (register "
            "PMTU); at most 1024 is accepted");
  context.frame_bytes = 4213;
  EXPECT_FALSE(check_path_mtu(context, prm::QpcMtu::MTU_4096).has_value());
  context.frame_bytes = 4214;
  EXPECT_TRUE(check_path_mtu(context, prm::QpcMtu::MTU_4096).has_value());
  context.frame_bytes = 300;
  EXPECT_THAT(check_path_mtu(context, prm::QpcMtu::MTU_256).error().text,
              ::testing::HasSubstr("none is accepted"));
}

TEST_F(PortCommands, PathMtuWhereNobodyKnowsTheFrames_IsAccepted) {
  EXPECT_TRUE(check_path_mtu(context, prm::QpcMtu::MTU_4096).has_value());
}

TEST_F(PortCommands, State_IsThatOfTheFunctionsOwnVport) {
  answer_state(2, 1);  // MLX5_VPORT_ADMIN_STATE_AUTO, VPORT_STATE_UP
  const PortState state = query_port_state(channel).value();
  EXPECT_EQ(channel.last(), IfcMessage("query_vport_state_in", 16)
                                .put("opcode", kQueryVportState)
                                .put("op_mod", 0)  // MLX5_VPORT_STATE_OP_MOD_VNIC_VPORT
                                .bytes());
  EXPECT_EQ(describe(state), "admin up, link up");
}

TEST_F(PortCommands, PortTakenDown_IsToldAsSuch) {
  answer_state(0, 0);
  EXPECT_EQ(describe(query_port_state(channel).value()), "admin down, link down");
}

TEST_F(PortCommands, LinkThatIsUp_IsNotWaitedFor) {
  answer_state(1, 1);
  EXPECT_TRUE(wait_for_link(context.device, channel, now_ns + 1'000'000'000)->link_up);
  EXPECT_TRUE(relaxed_until.empty());
}

TEST_F(PortCommands, LinkThatStaysDown_IsWaitedForUntilTheDeadlineAndNoLonger) {
  answer_state(1, 0);
  const std::uint64_t until_ns = now_ns + 10'000'000;
  EXPECT_FALSE(wait_for_link(context.device, channel, until_ns)->link_up);
  EXPECT_EQ(now_ns, until_ns);
}

TEST_F(PortCommands, RefusedQuery_EndsTheWait) {
  channel.fail_with(kQueryVportState, Errc::DeviceGone);
  EXPECT_EQ(wait_for_link(context.device, channel, now_ns + 1'000'000).error().code,
            Errc::DeviceGone);
}

struct InfinibandPortCommands : PortCommands {
  void answer_port(unsigned state, unsigned lid) {
    channel.answer(kQueryHcaVportContext, IfcMessage("query_hca_vport_context_out", 528)
                                              .put("hca_vport_context.vport_state", state)
                                              .put("hca_vport_context.lid", lid));
  }
};

TEST_F(InfinibandPortCommands, ActivePort_GivesItsLidAtOnce) {
  answer_port(4, 0x1234);  // IB_PORT_ACTIVE
  EXPECT_EQ(wait_for_subnet(context.device, channel, now_ns + 1'000'000)->lid, 0x1234);
  EXPECT_EQ(
      channel.last(),
      IfcMessage("query_hca_vport_context_in", 16).put("opcode", kQueryHcaVportContext).bytes());
  EXPECT_TRUE(relaxed_until.empty());
}

TEST_F(InfinibandPortCommands, PortThatNoSubnetManagerSees_TimesOut) {
  answer_port(2, 0);  // IB_PORT_INIT
  const std::uint64_t until_ns = now_ns + 25'000'000;
  EXPECT_EQ(wait_for_subnet(context.device, channel, until_ns).error().code, Errc::Timeout);
  EXPECT_EQ(now_ns, until_ns);
}

}  // namespace
}  // namespace portcullis::pmd
