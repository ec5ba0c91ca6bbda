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
