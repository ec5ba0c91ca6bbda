// SPDX-License-Identifier: BSD-3-Clause
//
// What a vport counts of the frames that a station on its wire sends, RoCE among them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "prm/ethernet_port_commands.hpp"
#include "prm/ethernet_registers.hpp"
#include "prm/port_registers.hpp"
#include "tests/model/flow_commands.hpp"
#include "tests/model/mini_driver.hpp"
#include "tests/model/station.hpp"

namespace portcullis::model::testing {
namespace {

using prm::FlowTableType;
using prm::Opcode;

constexpr std::size_t kFrameBytes = 60;
constexpr std::size_t kPacketBytes = 14 + 20 + 8 + 12 + 4;  // Ethernet to BTH, ICRC
constexpr Mac kFunctionMac{0x02, 0, 0, 0, 0, 0x31};
constexpr Mac kEverybody{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

class VportCounters : public ::testing::Test {
 protected:
  VportCounters() { bring_up(); }
  void bring_up() {
    driver_.bring_up();
    // Frames that are no RoCE come to a port with a table for them.
    const Answer table =
        driver_.run<prm::create_flow_table_out>(table_command(FlowTableType::NIC_RX, 0));
    const Place place{FlowTableType::NIC_RX,
                      table.as<prm::create_flow_table_out>().get<"table_id">()};
    EXPECT_TRUE(driver_.run<prm::set_flow_table_root_out>(root_command(place)).ok());
  }
  void be_promiscuous(bool of_groups) {
    auto in = command<prm::modify_nic_vport_context_in>(Opcode::MODIFY_NIC_VPORT_CONTEXT);
    in.set<"field_select.promisc", 1>()
        .put<"nic_vport_context.promisc_mc">(of_groups ? 1 : 0)
        .set<"nic_vport_context.promisc_all", 1>();
    ASSERT_TRUE(driver_.run<prm::modify_nic_vport_context_out>(in).ok());
  }
  /// A RoCE packet to the function, for a queue pair that it does not have.
  void send_packet() {
    Path path;
    path.dest_mac = kFunctionMac;
    path.source_ip[10] = path.source_ip[11] = path.dest_ip[10] = path.dest_ip[11] = 0xff;
    path.dest_qpn = 0x40;
    station_.send_packet(path, {.opcode = BthOpcode::SendOnly});
    driver_.pass(kNsPerMs);
  }
  void send_one_of_each() {
    for (const Mac& to : {Mac{0x02, 0, 0, 0, 0, 9}, Mac{0x33, 0x33, 0, 0, 0, 9}, kEverybody})
      station_.send(to, kFrameBytes);
    driver_.pass(kNsPerMs);
  }
  [[nodiscard]] Answer counters() {
    return driver_.run<prm::query_vport_counter_out>(
        command<prm::query_vport_counter_in>(Opcode::QUERY_VPORT_COUNTER));
  }

  [[nodiscard]] Answer ppcnt(prm::PpcntGroup group) {
    auto read = command<prm::access_register_in>(Opcode::ACCESS_REG);
    read.put<"op_mod">(prm::AccessRegisterOpMod::READ).put<"register_id">(prm::RegisterId::PPCNT);
    prm::Buffer<prm::ppcnt_reg> asked;
    asked.set<"local_port", 1>().put<"grp">(prm::number(group));
    std::vector<std::byte> message(read.all().begin(), read.all().end());
    message.insert(message.end(), asked.all().begin(), asked.all().end());
    return driver_.execute(message, prm::access_register_out::bytes + prm::ppcnt_reg::bytes);
  }
  template <class Group>
  [[nodiscard]] static prm::ConstView<Group> counters_in(const Answer& answer) {
    const auto data =
        prm::ConstView<prm::ppcnt_reg>::at(answer.out, prm::access_register_out::bytes);
    return prm::ConstView<Group>::at(data.bytes<"counter_set">());
  }

  std::shared_ptr<Wire> wire_ = std::make_shared<Wire>();
  Station station_{*wire_};
  MiniDriver driver_{Options{.behaviours = {"eth-offloads"}, .wire = wire_, .mac = kFunctionMac}};
};

TEST_F(VportCounters, PromiscuousForAll_CountsEachFrameOnce) {
  be_promiscuous(false);
  send_one_of_each();
  const Answer counted = counters();
  const auto out = counted.as<prm::query_vport_counter_out>();
  EXPECT_EQ(out.get<"received_eth_unicast.packets">(), 1U);
  EXPECT_EQ(out.get<"received_eth_multicast.packets">(), 1U);
  EXPECT_EQ(out.get<"received_eth_broadcast.packets">(), 1U);
}

TEST_F(VportCounters, PacketOfQueuePairs_IsCountedApartUntilTheCountsAreCleared) {
  auto roce = command<prm::modify_nic_vport_context_in>(Opcode::MODIFY_NIC_VPORT_CONTEXT);
  roce.set<"field_select.roce_en", 1>().set<"nic_vport_context.roce_en", 1>();
  ASSERT_TRUE(driver_.run<prm::modify_nic_vport_context_out>(roce).ok());
  send_packet();
  auto in = command<prm::query_vport_counter_in>(Opcode::QUERY_VPORT_COUNTER);
  const Answer counted = driver_.run<prm::query_vport_counter_out>(in.set<"clear", 1>());
  const auto out = counted.as<prm::query_vport_counter_out>();
  EXPECT_EQ(out.get<"received_ib_unicast.packets">(), 1U);
  EXPECT_EQ(out.get<"received_ib_unicast.octets">(), kPacketBytes);
  EXPECT_EQ(out.get<"received_ib_multicast.packets">(), 0U);
  EXPECT_EQ(out.get<"transmitted_ib_unicast.packets">(), 0U);
  EXPECT_EQ(out.get<"received_eth_unicast.packets">(), 0U);
  const Answer again = counters();
  EXPECT_EQ(again.as<prm::query_vport_counter_out>().get<"received_ib_unicast.packets">(), 0U);
}

/// connectx_test.lua of Snabb resets the function before each run: switch() asserts afterwards that
/// the vport counted what was sent since, drop() waits until PPCNT counts anything.
TEST_F(VportCounters, Reset_BeginsBothCountsAnew) {
  be_promiscuous(false);
  send_one_of_each();
  ASSERT_TRUE(driver_.device().function->reset());
  bring_up();
  const Answer counted = counters();
  const auto out = counted.as<prm::query_vport_counter_out>();
  EXPECT_EQ(out.get<"received_eth_unicast.packets">(), 0U);
  const Answer answer = ppcnt(prm::PpcntGroup::RFC_2863);
  EXPECT_EQ(counters_in<prm::eth_2863_cntrs_grp_data_layout>(answer).get<"if_in_ucast_pkts_low">(),
            0U);
}

TEST_F(VportCounters, FrameShorterThanOneMayBe_IsAnErrorAndNotReceived) {
  be_promiscuous(false);
  station_.send({0x02, 0, 0, 0, 0, 9}, kFrameBytes - 1);
  driver_.pass(kNsPerMs);
  const Answer interface = ppcnt(prm::PpcntGroup::RFC_2863);
  const auto rfc_2863 = counters_in<prm::eth_2863_cntrs_grp_data_layout>(interface);
  EXPECT_EQ(rfc_2863.get<"if_in_ucast_pkts_low">(), 0U);
  EXPECT_EQ(rfc_2863.get<"if_in_errors_low">(), 1U);
  const Answer statistics = ppcnt(prm::PpcntGroup::RFC_2819);
  EXPECT_EQ(counters_in<prm::eth_2819_cntrs_grp_data_layout>(statistics)
                .get<"ether_stats_undersize_pkts_low">(),
            1U);
}

TEST_F(VportCounters, GroupOfTheInvariantCrc_IsThere) {
  const Answer answer = ppcnt(prm::PpcntGroup::EXTENDED);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(counters_in<prm::eth_extended_cntrs_grp_data_layout>(answer)
                .get<"rx_icrc_encapsulated_low">(),
            0U);
}

/// Read by mcx_kstat_ppcnt_read of OpenBSD's if_mcx.c.
TEST_F(VportCounters, FrameLongerThanThePortCarries_IsAmongThoseOfRfc3635) {
  be_promiscuous(false);
  station_.send({0x02, 0, 0, 0, 0, 9}, 1600);
  driver_.pass(kNsPerMs);
  const Answer answer = ppcnt(prm::PpcntGroup::RFC_3635);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(counters_in<prm::eth_3635_cntrs_grp_data_layout>(answer)
                .get<"dot3stats_frame_too_longs_low">(),
            1U);
}

/// As RFC 2819 has it, and get_port_stats_finish of Snabb's connectx.lua for the group of RFC 2863.
TEST_F(VportCounters, OctetsOfTheRfcs_HaveTheFrameCheckSequence) {
  be_promiscuous(false);
  send_one_of_each();
  const Answer statistics = ppcnt(prm::PpcntGroup::RFC_2819);
  EXPECT_EQ(
      counters_in<prm::eth_2819_cntrs_grp_data_layout>(statistics).get<"ether_stats_octets_low">(),
      3 * (kFrameBytes + 4));
  const Answer interface = ppcnt(prm::PpcntGroup::RFC_2863);
  EXPECT_EQ(counters_in<prm::eth_2863_cntrs_grp_data_layout>(interface).get<"if_in_octets_low">(),
            3 * (kFrameBytes + 4));
}

TEST_F(VportCounters, PromiscuousForAllAndForGroups_CountsGroupsTwice) {
  be_promiscuous(true);
  send_one_of_each();
  const Answer counted = counters();
  const auto out = counted.as<prm::query_vport_counter_out>();
  EXPECT_EQ(out.get<"received_eth_unicast.packets">(), 1U);
  EXPECT_EQ(out.get<"received_eth_multicast.packets">(), 2U);
  EXPECT_EQ(out.get<"received_eth_multicast.octets">(), 2 * kFrameBytes);
  EXPECT_EQ(out.get<"received_eth_broadcast.packets">(), 2U);
}

}  // namespace
}  // namespace portcullis::model::testing
