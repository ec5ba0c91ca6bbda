// SPDX-License-Identifier: BSD-3-Clause
//
// An InfiniBand port: how its link comes up, and what HCA vport commands, registers and management
// datagrams say of it. Offsets in PortInfo and NodeInfo are those at which mlx5_query_mad_ifc_port
// and its neighbours read them (mlx5_ib/mad.c).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "model/port_link.hpp"
#include "model/transport/wire.hpp"
#include "prm/eqe.hpp"
#include "prm/ethernet_registers.hpp"
#include "prm/port_registers.hpp"
#include "prm/vport_commands.hpp"
#include "tests/model/event_queue.hpp"
#include "tests/model/mini_driver.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CommandStatus;
using prm::Opcode;

constexpr std::uint64_t kUpNs = PortLink::kTrainingNs + PortLink::kSweepNs + kNsPerMs;

Options infiniband() {
  Options options;
  options.port_type = PortType::InfiniBand;
  return options;
}

class InfiniBandPort : public ::testing::Test {
 protected:
  InfiniBandPort() { driver_.bring_up(); }

  Answer vport() {
    return driver_.run<prm::query_hca_vport_context_out>(
        command<prm::query_hca_vport_context_in>(Opcode::QUERY_HCA_VPORT_CONTEXT));
  }
  std::uint32_t state() {
    return vport().as<prm::query_hca_vport_context_out>().get<"hca_vport_context.vport_state">();
  }
  std::uint32_t lid() {
    return vport().as<prm::query_hca_vport_context_out>().get<"hca_vport_context.lid">();
  }

  template <class L>
  Answer access(prm::RegisterId id, const prm::Buffer<L>& data,
                prm::AccessRegisterOpMod op = prm::AccessRegisterOpMod::READ) {
    auto header = command<prm::access_register_in>(Opcode::ACCESS_REG);
    header.put<"register_id">(id).put<"op_mod">(op);
    std::vector<std::byte> in(header.all().begin(), header.all().end());
    in.insert(in.end(), data.all().begin(), data.all().end());
    return driver_.execute(in, prm::access_register_out::bytes + L::bytes);
  }
  template <class L>
  static prm::ConstView<L> data_of(const Answer& answer) {
    return prm::ConstView<L>::at(std::span(answer.out), prm::access_register_out::bytes);
  }
  /// As rdma-core's tests do it: a write, that changes something with `ase` only.
  Answer paos(prm::PortStatus wanted, bool ase = true) {
    prm::Buffer<prm::paos_reg> reg;
    reg.set<"local_port", 1>();
    if (ase) reg.put<"admin_status">(wanted).set<"ase", 1>();
    return access(prm::RegisterId::PAOS, reg, prm::AccessRegisterOpMod::WRITE);
  }

  std::uint32_t link_downs() {
    prm::Buffer<prm::ppcnt_reg> asked;
    asked.set<"local_port", 1>().put<"grp">(prm::number(prm::PpcntGroup::INFINIBAND));
    const Answer answer = access(prm::RegisterId::PPCNT, asked);
    EXPECT_TRUE(answer.ok());
    return prm::ConstView<prm::ib_port_cntrs_grp_data_layout>::at(
               data_of<prm::ppcnt_reg>(answer).bytes<"counter_set">())
        .get<"link_downed_counter">();
  }

  /// Byte `at` of the data of a Get's answer.
  std::vector<std::byte> smp(std::uint8_t attribute, std::uint8_t modifier = 0,
                             std::uint8_t method = 1, std::uint8_t attribute_high = 0) {
    auto in = command<prm::mad_ifc_in>(Opcode::MAD_IFC);
    in.set<"op_mod", 3>().set<"port", 1>();
    const auto mad = in.bytes<"mad">();
    mad[0] = mad[1] = mad[2] = std::byte{1};
    mad[3] = std::byte{method};
    mad[16] = std::byte{attribute_high};
    mad[17] = std::byte{attribute};
    mad[23] = std::byte{modifier};
    const Answer answer = driver_.run<prm::mad_ifc_out>(in);
    if (!answer.ok()) return {};
    const auto out = answer.as<prm::mad_ifc_out>().bytes<"response_mad_packet">();
    return {out.begin(), out.end()};
  }

  MiniDriver driver_{infiniband()};
};

TEST_F(InfiniBandPort, Capabilities_SayInfiniBandAndNoRoce) {
  auto in = command<prm::query_hca_cap_in>(Opcode::QUERY_HCA_CAP);
  in.put<"op_mod">(prm::cap_op_mod(prm::CapType::GENERAL, prm::CapMode::GET_CUR));
  const Answer answer = driver_.run<prm::query_hca_cap_out>(in);
  ASSERT_TRUE(answer.ok());
  const auto page = prm::ConstView<prm::cmd_hca_cap>::at(
      answer.as<prm::query_hca_cap_out>().bytes<"capability">());
  EXPECT_EQ(page.get<"port_type">(), prm::number(prm::PortType::IB));
  EXPECT_EQ(page.get<"roce">(), 0U);
  EXPECT_EQ(page.get<"ib_virt">(), 1U);
}

// A hypothesis: no card was asked.
TEST_F(InfiniBandPort, RoceCapabilities_AreAnsweredAndAllZero) {
  auto in = command<prm::query_hca_cap_in>(Opcode::QUERY_HCA_CAP);
  in.put<"op_mod">(prm::cap_op_mod(prm::CapType::ROCE, prm::CapMode::GET_MAX));
  const Answer answer = driver_.run<prm::query_hca_cap_out>(in);
  ASSERT_TRUE(answer.ok());
  EXPECT_THAT(answer.as<prm::query_hca_cap_out>().bytes<"capability">(),
              ::testing::Each(std::byte{0}));
}

TEST_F(InfiniBandPort, HalfACapabilityPageAskedFor_CutOffAndNotRefused) {
  auto in = command<prm::query_hca_cap_in>(Opcode::QUERY_HCA_CAP);
  in.put<"op_mod">(prm::cap_op_mod(prm::CapType::GENERAL, prm::CapMode::GET_CUR));
  const Answer answer = driver_.execute(in.all(), 2064);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(prm::ConstView<prm::cmd_hca_cap>::at(std::span(answer.out), 16).get<"num_ports">(), 1U);
}

TEST_F(InfiniBandPort, LinkAfterInit_TrainsThenASubnetManagerMakesItActive) {
  EXPECT_EQ(state(), prm::number(PortState::Down));
  driver_.pass(PortLink::kTrainingNs);
  EXPECT_EQ(state(), prm::number(PortState::Init));
  EXPECT_EQ(lid(), 0U);
  driver_.pass(PortLink::kSweepNs);
  EXPECT_EQ(state(), prm::number(PortState::Active));
  EXPECT_EQ(lid(), 1U);  // the default MAC ends in 00:01
}

TEST_F(InfiniBandPort, LinkComesUp_EventsInItsOrder) {
  EventQueue queue(driver_, {prm::EventType::PORT_CHANGE});
  driver_.pass(kUpNs);
  const auto first = queue.poll();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->type, prm::EventType::PORT_CHANGE);
  EXPECT_EQ(first->as<prm::port_state_change_event>().get<"port_num">(), 1U);
  EXPECT_TRUE(queue.poll());  // LID
  EXPECT_TRUE(queue.poll());  // ACTIVE
  EXPECT_FALSE(queue.poll());
}

TEST_F(InfiniBandPort, PaosDown_LinkDownAndHeardOf) {
  driver_.pass(kUpNs);
  EventQueue queue(driver_, {prm::EventType::PORT_CHANGE});
  const Answer answer = paos(prm::PortStatus::DOWN);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(data_of<prm::paos_reg>(answer).get<"oper_status">(),
            prm::number(prm::PortStatus::DOWN));
  EXPECT_EQ(state(), prm::number(PortState::Down));
  EXPECT_TRUE(queue.poll());
}

TEST_F(InfiniBandPort, PaosUpAgain_ActiveAfterTrainingAndSweep) {
  ASSERT_TRUE(paos(prm::PortStatus::DOWN).ok());
  ASSERT_TRUE(paos(prm::PortStatus::UP).ok());
  driver_.pass(kUpNs);
  EXPECT_EQ(state(), prm::number(PortState::Active));
}

TEST_F(InfiniBandPort, PaosDownWhileTraining_StaysDown) {
  driver_.pass(PortLink::kTrainingNs / 2);
  ASSERT_TRUE(paos(prm::PortStatus::DOWN).ok());
  driver_.pass(kUpNs);
  EXPECT_EQ(state(), prm::number(PortState::Down));
}

TEST_F(InfiniBandPort, PaosWrittenWithoutAse_OnlyAnswers) {
  driver_.pass(kUpNs);
  const Answer answer = paos(prm::PortStatus::DOWN, false);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(data_of<prm::paos_reg>(answer).get<"admin_status">(), prm::number(prm::PortStatus::UP));
  EXPECT_EQ(data_of<prm::paos_reg>(answer).get<"oper_status">(), prm::number(prm::PortStatus::UP));
}

TEST_F(InfiniBandPort, PaosOfASecondPort_Refused) {
  prm::Buffer<prm::paos_reg> reg;
  reg.set<"local_port", 2>();
  EXPECT_EQ(access(prm::RegisterId::PAOS, reg).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(InfiniBandPort, Ptys_SaysEdrOverFourLanesWhenUp) {
  driver_.pass(kUpNs);
  prm::Buffer<prm::ptys_reg> reg;
  reg.set<"local_port", 1>().put<"proto_mask">(prm::PtysProtocol::IB);
  const Answer answer = access(prm::RegisterId::PTYS, reg);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(data_of<prm::ptys_reg>(answer).get<"ib_link_width_oper">(), 4U);  // MLX5_PTYS_WIDTH_4X
  EXPECT_EQ(data_of<prm::ptys_reg>(answer).get<"ib_proto_oper">(), 32U);      // EDR
}

TEST_F(InfiniBandPort, PtysThatAllowsLess_RunsAtTheFastestOfItUntilAReset) {
  driver_.pass(kUpNs);
  prm::Buffer<prm::ptys_reg> reg;
  reg.set<"local_port", 1>().put<"proto_mask">(prm::PtysProtocol::IB);
  reg.set<"ib_proto_admin", 3>();  // SDR and DDR
  const auto write = prm::AccessRegisterOpMod::WRITE;
  const Answer written = access(prm::RegisterId::PTYS, reg, write);
  ASSERT_TRUE(written.ok());
  EXPECT_EQ(data_of<prm::ptys_reg>(written).get<"ib_proto_oper">(), 2U);
  ASSERT_TRUE(driver_.device().function->reset().has_value());
  driver_.bring_up();
  const Answer after = access(prm::RegisterId::PTYS, reg);
  EXPECT_EQ(data_of<prm::ptys_reg>(after).get<"ib_proto_admin">(), 0x37U);
}

TEST_F(InfiniBandPort, MtuAndLanes_AreThoseOfIbVerbs) {
  prm::Buffer<prm::pmtu_reg> mtu;
  mtu.set<"local_port", 1>();
  EXPECT_EQ(data_of<prm::pmtu_reg>(access(prm::RegisterId::PMTU, mtu)).get<"oper_mtu">(), 4096U);
  prm::Buffer<prm::pvlc_reg> lanes;
  lanes.set<"local_port", 1>();
  EXPECT_EQ(data_of<prm::pvlc_reg>(access(prm::RegisterId::PVLC, lanes)).get<"vl_hw_cap">(), 4U);
}

TEST_F(InfiniBandPort, GidTable_FirstIsLinkLocalOfTheGuid) {
  auto in = command<prm::query_hca_vport_gid_in>(Opcode::QUERY_HCA_VPORT_GID);
  in.set<"gid_index", 0xffff>();
  const Answer answer = driver_.execute(in.all(), prm::query_hca_vport_gid_out::bytes + 8 * 16);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer.as<prm::query_hca_vport_gid_out>().get<"gids_num">(), 8U);
  EXPECT_EQ(answer.out[16], std::byte{0xfe});
  EXPECT_EQ(answer.out[16 + 15], std::byte{1});
}

/// rdma of iproute2 prints the prefix of the last as that of the subnet.
TEST_F(InfiniBandPort, GidThatIsNotSet_HasThePrefixAlone) {
  auto in = command<prm::query_hca_vport_gid_in>(Opcode::QUERY_HCA_VPORT_GID);
  in.set<"gid_index", 7>();
  const Answer one = driver_.execute(in.all(), prm::query_hca_vport_gid_out::bytes + 16);
  ASSERT_TRUE(one.ok());
  const std::vector<std::byte> entry(one.out.begin() + 16, one.out.end());
  std::vector<std::byte> expected(16);
  expected[0] = std::byte{0xfe};
  expected[1] = std::byte{0x80};
  EXPECT_EQ(entry, expected);
  in.set<"gid_index", 0xffff>();
  const Answer all = driver_.execute(in.all(), prm::query_hca_vport_gid_out::bytes + 8 * 16);
  EXPECT_TRUE(std::ranges::equal(entry, std::span(all.out).last(16)));
}

TEST_F(InfiniBandPort, GidBeyondTheTable_Refused) {
  auto in = command<prm::query_hca_vport_gid_in>(Opcode::QUERY_HCA_VPORT_GID);
  in.set<"gid_index", 8>();
  EXPECT_EQ(driver_.execute(in.all(), prm::query_hca_vport_gid_out::bytes + 16).status,
            CommandStatus::IX_ERR);
}

TEST_F(InfiniBandPort, PkeyTable_HasTheDefaultKeyAlone) {
  auto in = command<prm::query_hca_vport_pkey_in>(Opcode::QUERY_HCA_VPORT_PKEY);
  in.set<"pkey_index", 0xffff>();
  const Answer answer = driver_.execute(in.all(), prm::query_hca_vport_pkey_out::bytes + 128 * 4);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer.out[16 + 2], std::byte{0xff});
  EXPECT_EQ(answer.out[16 + 6], std::byte{0});
}

TEST_F(InfiniBandPort, PortInfo_SaysStateLidAndMtuWhereLinuxReadsThem) {
  driver_.pass(kUpNs);
  const std::vector<std::byte> mad = smp(0x15, 1);
  ASSERT_EQ(mad.size(), 256U);
  const std::byte* const data = mad.data() + 64;
  EXPECT_EQ(mad[3], std::byte{0x81});  // IB_MGMT_METHOD_GET_RESP
  EXPECT_EQ(data[17], std::byte{1});   // LID
  EXPECT_EQ(data[32] & std::byte{0xf}, std::byte{4});
  EXPECT_EQ(data[33] >> 4, std::byte{5});
  EXPECT_EQ(data[36] >> 4, std::byte{5});
  EXPECT_EQ(data[41] & std::byte{0xf}, std::byte{5});
  EXPECT_EQ(data[62] >> 4, std::byte{2});  // EDR
}

TEST_F(InfiniBandPort, NodeInfo_HasTheGuidWhereLinuxReadsIt) {
  const std::vector<std::byte> mad = smp(0x11);
  ASSERT_EQ(mad.size(), 256U);
  EXPECT_EQ(mad[64 + 12 + 7], std::byte{1});
  EXPECT_EQ(mad[64 + 12 + 3], std::byte{0xff});
}

TEST_F(InfiniBandPort, NodeDescriptionThatNobodySet_NamesTheCard) {
  const std::vector<std::byte> mad = smp(0x10);
  ASSERT_EQ(mad.size(), 256U);
  EXPECT_EQ(mad[64], std::byte{'M'});
  EXPECT_EQ(mad[64 + 39], std::byte{'s'});
  EXPECT_EQ(mad[64 + 40], std::byte{0});
}

/// smpquery sl2vl, and ibportstate of infiniband-diags, which asks a card of this device id for
/// Mellanox' attribute.
TEST_F(InfiniBandPort, LanesAndExtendedPortInfo_AreAnswered) {
  EXPECT_EQ(smp(0x17).at(5), std::byte{0});
  EXPECT_EQ(smp(0x90, 1, 1, 0xff).at(5), std::byte{0});
  EXPECT_EQ(smp(0x90, 2, 1, 0xff).at(5), std::byte{0x0c});
}

TEST_F(InfiniBandPort, SetOverMad_AnsweredAsUnsupported) {
  const std::vector<std::byte> mad = smp(0x15, 1, 2);
  ASSERT_EQ(mad.size(), 256U);
  EXPECT_EQ(mad[5], std::byte{0x0c});
}

TEST_F(InfiniBandPort, EthernetCommands_Refused) {
  EXPECT_EQ(driver_
                .run<prm::query_nic_vport_context_out>(
                    command<prm::query_nic_vport_context_in>(Opcode::QUERY_NIC_VPORT_CONTEXT))
                .status,
            CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(driver_
                .run<prm::query_roce_address_out>(
                    command<prm::query_roce_address_in>(Opcode::QUERY_ROCE_ADDRESS))
                .status,
            CommandStatus::BAD_PARAM_ERR);
}

/// link_downed_counter of struct ib_pma_portcounters (include/rdma/ib_pma.h) is its byte 7.
TEST_F(InfiniBandPort, LinkThatWentDown_IsCountedByItsAgentUntilItIsSet) {
  constexpr std::uint8_t kPerformance = 4, kPortCounters = 0x12, kGet = 1, kSet = 2;
  const auto downs = [&](std::uint8_t method) {
    auto in = command<prm::mad_ifc_in>(Opcode::MAD_IFC);
    in.set<"op_mod", 3>().set<"port", 1>();
    const auto mad = in.bytes<"mad">();
    mad[0] = mad[2] = std::byte{1};
    mad[1] = std::byte{kPerformance};
    mad[3] = std::byte{method};
    mad[17] = std::byte{kPortCounters};
    mad[64 + 1] = std::byte{1};                   // port_select
    mad[64 + 2] = mad[64 + 3] = std::byte{0xff};  // counter_select
    const Answer answer = driver_.run<prm::mad_ifc_out>(in);
    return answer.as<prm::mad_ifc_out>().bytes<"response_mad_packet">()[64 + 7];
  };
  driver_.pass(kUpNs);
  ASSERT_TRUE(paos(prm::PortStatus::DOWN).ok());
  EXPECT_EQ(downs(kGet), std::byte{1});
  EXPECT_EQ(downs(kSet), std::byte{0});
  EXPECT_EQ(downs(kGet), std::byte{0});
  EXPECT_EQ(link_downs(), 1U);
}

TEST_F(InfiniBandPort, LinkThatWentDown_IsCountedUpTo255) {
  constexpr std::uint32_t kMost = 0xff;
  for (std::uint32_t i = 0; i < kMost + 1; ++i) {
    driver_.pass(kUpNs);
    ASSERT_TRUE(paos(prm::PortStatus::DOWN).ok());
    EXPECT_EQ(link_downs(), std::min(i + 1, kMost));
    ASSERT_TRUE(paos(prm::PortStatus::UP).ok());
  }
}

TEST_F(InfiniBandPort, TornDownAndUpAgain_TrainsAnew) {
  driver_.pass(kUpNs);
  ASSERT_TRUE(
      driver_.run<prm::teardown_hca_out>(command<prm::teardown_hca_in>(Opcode::TEARDOWN_HCA)).ok());
  ASSERT_TRUE(driver_.run<prm::init_hca_out>(command<prm::init_hca_in>(Opcode::INIT_HCA)).ok());
  EXPECT_EQ(state(), prm::number(PortState::Down));
  driver_.pass(kUpNs);
  EXPECT_EQ(state(), prm::number(PortState::Active));
}

TEST(EthernetPort, InfiniBandCommands_Refused) {
  MiniDriver driver;
  driver.bring_up();
  EXPECT_EQ(driver
                .run<prm::query_hca_vport_context_out>(
                    command<prm::query_hca_vport_context_in>(Opcode::QUERY_HCA_VPORT_CONTEXT))
                .status,
            CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(driver.run<prm::mad_ifc_out>(command<prm::mad_ifc_in>(Opcode::MAD_IFC)).status,
            CommandStatus::BAD_PARAM_ERR);
}

TEST(EthernetPort, WireOfTheOtherLinkLayer_Refused) {
  Options options = infiniband();
  options.wire = std::make_shared<Wire>();
  const auto model = Model::create(options);
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().text, ::testing::HasSubstr("link layer"));
}

}  // namespace
}  // namespace portcullis::model::testing
