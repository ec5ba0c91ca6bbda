// SPDX-License-Identifier: BSD-3-Clause
//
// What steering decides over a frame: tables, misses, domains, and each finding about a firmware
// with its behaviour off and on.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "model/steering/flow_tables.hpp"
#include "model/transport/checksum.hpp"
#include "model/transport/frame.hpp"
#include "tests/model/flow_commands.hpp"

namespace portcullis::model::testing {
namespace {

using prm::FlowAction;
using prm::FlowTableType;
using Kind = FlowDecision::Kind;

constexpr std::uint32_t kQpn = 0x1234;
constexpr bool kCold = false;
constexpr bool kHot = true;
constexpr Match kOpcode{.opcode = 0xff};
constexpr Match kDstQp{.dst_qp = 0xffffff};
constexpr std::size_t kOuterBytes = 20;

/// Of a frame over IPv4 without a tag.
std::uint16_t udp_dport(std::span<const std::byte> frame) { return load_be16(&frame[36]); }

class Steered : public ::testing::Test {
 protected:
  explicit Steered(PortType port_type) : port_type_(port_type) {
    make({.opcode = BthOpcode::WriteOnly});
  }
  void make(const PacketHeader& header) {
    Path path;
    path.port_type = port_type_;
    path.dest_lid = 1;
    path.source_ip[10] = path.source_ip[11] = path.dest_ip[10] = path.dest_ip[11] = 0xff;
    path.udp_sport = 0xc001;
    path.dest_qpn = kQpn;
    length_ = FrameTemplate(path).finish(bytes_, header, 0);
  }
  [[nodiscard]] std::span<const std::byte> frame() const {
    return std::span(bytes_).first(length_);
  }
  Kind admit(bool hot = kCold) { return flows.admit(frame(), kQpn, hot).kind; }

  Place table(FlowTableType type, std::uint32_t level = 0,
              prm::FlowTableMiss miss = prm::FlowTableMiss::DEF, std::uint32_t next = 0) {
    auto in = table_command(type, 4, level);
    in.put<"flow_table_context.table_miss_action">(miss).put<"flow_table_context.table_miss_id">(
        next);
    Place place{type, 0};
    EXPECT_TRUE(
        flows
            .create_table(
                type, prm::ConstView<prm::flow_table_context>::at(in.bytes<"flow_table_context">()),
                place.table)
            .ok());
    return place;
  }
  void root(Place place, std::uint32_t underlay = prm::kNoUnderlayQpn) {
    const auto in = root_command(place, prm::FlowTableRootOpMod::SET, underlay);
    EXPECT_TRUE(flows.set_root(view(in)).ok());
  }
  std::uint32_t group(Place place, const Match& mask, std::uint32_t start = 0) {
    std::uint32_t id = 0;
    const auto in = group_command(place, start, start + 3, mask);
    EXPECT_TRUE(flows.create_group(view(in), id).ok());
    return id;
  }
  void set(const prm::Buffer<prm::set_fte_in>& in, std::span<const std::byte> list = {}) {
    EXPECT_TRUE(flows.set_entry(view(in), list).ok());
  }
  /// A root table with one entry.
  Place install(FlowTableType type, const Match& mask, const Match& value,
                FlowAction action = FlowAction::DROP) {
    const Place place = table(type);
    set(entry_command(place, group(place, mask), 0, value, action));
    root(place);
    return place;
  }
  std::uint32_t changes(FlowTableType type, const RawAction& action) {
    prm::Buffer<prm::alloc_modify_header_context_in> in;
    in.put<"table_type">(type).set<"num_of_actions", 1>();
    std::uint32_t id = 0;
    EXPECT_TRUE(flows.headers.allocate_changes(view(in), action, id).ok());
    return id;
  }
  /// With a header of zeros.
  std::uint32_t reformat(prm::ReformatType type) {
    prm::Buffer<prm::packet_reformat_context_in> in;
    in.put<"reformat_type">(type).set<"reformat_data_size", kOuterBytes>();
    std::uint32_t id = 0;
    const std::array<std::byte, kOuterBytes> more{};
    EXPECT_TRUE(flows.headers.allocate_reformat(view(in), more, id).ok());
    return id;
  }
  template <class L>
  static prm::ConstView<L> view(const prm::Buffer<L>& in) {
    return prm::ConstView<L>(in.all());
  }

  PortType port_type_;
  Behaviours behaviours;
  std::set<std::uint32_t> hot_qps;
  FlowTables flows{{&behaviours, port_type_, [](void*, std::uint32_t tirn) { return tirn == 9; },
                    [](void*, std::uint32_t qpn) { return qpn == kQpn; },
                    [](void* self, std::uint32_t qpn) {
                      return static_cast<Steered*>(self)->hot_qps.contains(qpn);
                    },
                    this}};

 private:
  std::array<std::byte, kMaxFrameBytes> bytes_{};
  std::size_t length_ = 0;
};

class FlowWalk : public Steered {
 protected:
  FlowWalk() : Steered(PortType::Ethernet) { behaviours.rdma_rx_in_path = true; }
};

TEST_F(FlowWalk, NoTable_IsNotEngagedAndPasses) {
  EXPECT_FALSE(flows.engaged());
  EXPECT_EQ(admit(), Kind::Pass);
}

TEST_F(FlowWalk, TableWithoutRoot_DecidesNothing) {
  const Place place = table(FlowTableType::RDMA_RX);
  set(entry_command(place, group(place, kOpcode), 0, {.opcode = 0x0a}));
  EXPECT_EQ(admit(), Kind::Pass);
}

TEST_F(FlowWalk, DropByOpcode_TakesThatOpcodeAlone) {
  install(FlowTableType::RDMA_RX, kOpcode, {.opcode = 0x0a});
  EXPECT_EQ(admit(), Kind::Drop);
  make({.opcode = BthOpcode::WriteFirst});
  EXPECT_EQ(admit(), Kind::Pass);
}

TEST_F(FlowWalk, DropByOpcodeClass_TakesAnswersToo) {
  install(FlowTableType::RDMA_RX, {.opcode = 0xe0}, {.opcode = 0x00});
  make({.opcode = BthOpcode::Acknowledge});
  EXPECT_EQ(admit(), Kind::Drop);
}

TEST_F(FlowWalk, MatchAll_DropsEverything) {
  install(FlowTableType::RDMA_RX, {}, {});
  EXPECT_EQ(admit(), Kind::Drop);
}

TEST_F(FlowWalk, DropByUdpPort_TakesThatPortAlone) {
  const Place place = install(FlowTableType::RDMA_RX, {.udp_sport = 0xffff}, {.udp_sport = 0xc002});
  EXPECT_EQ(admit(), Kind::Pass);
  set(entry_command(place, 1, 1, {.udp_sport = 0xc001}));
  EXPECT_EQ(admit(), Kind::Drop);
}

TEST_F(FlowWalk, LowestIndex_Decides) {
  const Place place = table(FlowTableType::RDMA_RX);
  const std::uint32_t id = group(place, kOpcode);
  set(entry_command(place, id, 1, {.opcode = 0x0a}, FlowAction::DROP));
  set(entry_command(place, id, 0, {.opcode = 0x0a}, FlowAction::ALLOW));
  root(place);
  EXPECT_EQ(admit(), Kind::Pass);
}

TEST_F(FlowWalk, MissThatForwards_MeetsTheNextTable) {
  const Place high = table(FlowTableType::RDMA_RX, 1);
  set(entry_command(high, group(high, kOpcode), 0, {.opcode = 0x0a}));
  root(table(FlowTableType::RDMA_RX, 0, prm::FlowTableMiss::FWD, high.table));
  EXPECT_EQ(admit(), Kind::Drop);
}

TEST_F(FlowWalk, MissThatSwitchesTheDomain_LeavesTheTransport) {
  root(table(FlowTableType::RDMA_RX, 0, prm::FlowTableMiss::SWITCH_DOMAIN));
  EXPECT_EQ(admit(), Kind::Drop);
}

TEST_F(FlowWalk, NicRxForward_GoesToTheTir) {
  const Place place = table(FlowTableType::NIC_RX);
  const std::uint32_t id = group(place, {.udp_dport = 0xffff});
  set(forwarding(entry_command(place, id, 0, {.udp_dport = 4791})),
      destination(prm::FlowDestination::TIR, 9));
  root(place);
  const FlowDecision decision = flows.classify(frame());
  EXPECT_EQ(decision.kind, Kind::Tir);
  EXPECT_EQ(decision.to.tirn, 9U);
  EXPECT_TRUE(decision.copies.empty());
  EXPECT_TRUE(flows.uses_tir(9));
}

TEST_F(FlowWalk, SeveralDestinations_EachTirGetsTheFrame) {
  const Place above = table(FlowTableType::NIC_RX, 1);
  const Place place = table(FlowTableType::NIC_RX);
  const std::uint32_t id = group(place, {.udp_dport = 0xffff});
  auto in = forwarding(entry_command(place, id, 0, {.udp_dport = 4791}));
  in.set<"flow_context.destination_list_size", 3>().set<"flow_context.flow_tag", 5>();
  std::vector<std::byte> list = destination(prm::FlowDestination::FLOW_TABLE, above.table);
  const std::vector<std::byte> tir = destination(prm::FlowDestination::TIR, 9);
  list.insert(list.end(), tir.begin(), tir.end());
  list.insert(list.end(), tir.begin(), tir.end());
  set(in, list);
  root(place);
  // The table above has no entry: of the frame itself nothing is left.
  const FlowDecision lost = flows.classify(frame());
  EXPECT_EQ(lost.kind, Kind::Tir);
  EXPECT_EQ(lost.to.tirn, 9U);
  EXPECT_EQ(lost.to.flow_tag, 5U);
  EXPECT_EQ(lost.copies.size(), 1U);
  set(forwarding(entry_command(above, group(above, {}), 0, {})), tir);
  const FlowDecision found = flows.classify(frame());
  EXPECT_EQ(found.kind, Kind::Tir);
  EXPECT_EQ(found.to.flow_tag, 0U);
  ASSERT_EQ(found.copies.size(), 2U);
  EXPECT_EQ(found.copies[0].tirn, 9U);
  EXPECT_EQ(found.copies[1].flow_tag, 5U);
}

TEST_F(FlowWalk, Counter_CountsPacketsAndOctetsOfItsEntry) {
  const Place place = table(FlowTableType::RDMA_RX);
  const std::uint32_t counter = flows.counters.allocate().value();
  auto in = entry_command(place, group(place, kOpcode), 0, {.opcode = 0x0a});
  in.put<"flow_context.action">(prm::number(FlowAction::DROP) | prm::number(FlowAction::COUNT));
  in.set<"flow_context.flow_counter_list_size", 1>();
  prm::Buffer<prm::flow_counter_list> list;
  list.put<"flow_counter_id">(counter);
  set(in, list.all());
  root(place);
  static_cast<void>(admit());
  static_cast<void>(admit());
  EXPECT_EQ(flows.counters.find(counter)->packets, 2U);
  EXPECT_EQ(flows.counters.find(counter)->octets, 2 * frame().size());
}

TEST_F(FlowWalk, SentFrameWithoutRoot_GoesOut) {
  const Place place = table(FlowTableType::NIC_TX);
  set(entry_command(place, group(place, {}), 0, {}));
  EXPECT_EQ(flows.send(frame()).kind, Kind::Pass);
}

TEST_F(FlowWalk, SentFrameThatAnEntryDrops_StaysHere) {
  const Place place = install(FlowTableType::NIC_TX, {.udp_sport = 0xffff}, {.udp_sport = 0xc002});
  EXPECT_EQ(flows.send(frame()).kind, Kind::Pass);
  set(entry_command(place, 1, 1, {.udp_sport = 0xc001}));
  EXPECT_EQ(flows.send(frame()).kind, Kind::Drop);
}

TEST_F(FlowWalk, SentFrameThatAnEntryAllows_GoesOutPastALaterDrop) {
  const Place place = table(FlowTableType::NIC_TX);
  const std::uint32_t id = group(place, {.udp_sport = 0xffff});
  set(entry_command(place, id, 0, {.udp_sport = 0xc001}, FlowAction::ALLOW));
  set(entry_command(place, group(place, {}, 4), 4, {}, FlowAction::DROP));
  root(place);
  EXPECT_EQ(flows.send(frame()).kind, Kind::Pass);
}

TEST_F(FlowWalk, SentFrame_MeetsTablesThatAMissOrAnEntryLeadsTo) {
  const Place last = table(FlowTableType::NIC_TX, 2);
  set(entry_command(last, group(last, {}), 0, {}));
  const Place next = table(FlowTableType::NIC_TX, 1);
  const std::uint32_t id = group(next, {.udp_sport = 0xffff});
  set(forwarding(entry_command(next, id, 0, {.udp_sport = 0xc001})),
      destination(prm::FlowDestination::FLOW_TABLE, last.table));
  root(table(FlowTableType::NIC_TX, 0, prm::FlowTableMiss::FWD, next.table));
  EXPECT_EQ(flows.send(frame()).kind, Kind::Drop);
}

TEST_F(FlowWalk, ChangedFrame_IsWhatLaterTablesCompareAndTirsGet) {
  const Place last = table(FlowTableType::NIC_RX, 1);
  set(forwarding(entry_command(last, group(last, {.udp_dport = 0xffff}), 0, {.udp_dport = 9})),
      destination(prm::FlowDestination::TIR, 9));
  const Place place = table(FlowTableType::NIC_RX);
  auto in = entry_command(place, group(place, {.udp_dport = 0xffff}), 0, {.udp_dport = 4791});
  in.put<"flow_context.action">(prm::number(FlowAction::FWD_DEST) |
                                prm::number(FlowAction::MOD_HDR));
  in.set<"flow_context.destination_list_size", 1>().put<"flow_context.modify_header_id">(
      changes(FlowTableType::NIC_RX, set_action(prm::HeaderField::OUT_UDP_DPORT, 9, 16)));
  set(in, destination(prm::FlowDestination::FLOW_TABLE, last.table));
  root(place);
  const FlowDecision decision = flows.classify(frame());
  ASSERT_EQ(decision.kind, Kind::Tir);
  EXPECT_EQ(udp_dport(decision.to.frame(frame())), 9);
  EXPECT_EQ(udp_dport(frame()), 4791);
}

TEST_F(FlowWalk, CopiesOfAChangedFrame_AreAsTheirEntryLeftThem) {
  const Place above = table(FlowTableType::NIC_RX, 1);
  auto again = entry_command(above, group(above, {}), 0, {});
  again.put<"flow_context.action">(prm::number(FlowAction::FWD_DEST) |
                                   prm::number(FlowAction::MOD_HDR));
  again.set<"flow_context.destination_list_size", 1>().put<"flow_context.modify_header_id">(
      changes(FlowTableType::NIC_RX, add_action(prm::HeaderField::OUT_UDP_DPORT, 1)));
  const auto tir = destination(prm::FlowDestination::TIR, 9);
  set(again, tir);
  const Place place = table(FlowTableType::NIC_RX);
  auto in = entry_command(place, group(place, {}), 0, {});
  in.put<"flow_context.action">(prm::number(FlowAction::FWD_DEST));
  in.set<"flow_context.destination_list_size", 2>();
  auto list = destination(prm::FlowDestination::FLOW_TABLE, above.table);
  list.insert(list.end(), tir.begin(), tir.end());
  set(in, list);
  root(place);
  const FlowDecision decision = flows.classify(frame());
  ASSERT_EQ(decision.kind, Kind::Tir);
  EXPECT_EQ(udp_dport(decision.to.frame(frame())), 4792);
  ASSERT_EQ(decision.copies.size(), 1U);
  EXPECT_EQ(udp_dport(decision.copies[0].frame(frame())), 4791);
}

/// What comes off first, then fields, then what goes on: next_action_state of Linux's dr_action.c.
TEST_F(FlowWalk, FrameThatAnEntryChangesTagsAndWraps_HasTheTagInsideTheTunnel) {
  auto in = entry_command({FlowTableType::NIC_TX, 0}, 0, 0, {});
  in.put<"flow_context.action">(prm::number(FlowAction::ALLOW) | prm::number(FlowAction::MOD_HDR) |
                                prm::number(FlowAction::VLAN_PUSH) |
                                prm::number(FlowAction::PACKET_REFORMAT));
  in.put<"flow_context.modify_header_id">(
      changes(FlowTableType::NIC_TX, set_action(prm::HeaderField::OUT_UDP_DPORT, 9, 16)));
  in.put<"flow_context.packet_reformat_id">(reformat(prm::ReformatType::L2_TO_L2_TUNNEL));
  const prm::View<prm::vlan> tag{in.bytes<"flow_context.push_vlan">()};
  tag.put<"ethtype">(std::uint16_t{0x8100});
  tag.set<"vid", 5>();
  const Place place = table(FlowTableType::NIC_TX);
  in.put<"table_id">(place.table).put<"flow_context.group_id">(group(place, {}));
  set(in);
  root(place);
  const FlowDecision decision = flows.send(frame());
  ASSERT_EQ(decision.kind, Kind::Pass);
  const auto sent = decision.to.frame(frame());
  ASSERT_EQ(sent.size(), frame().size() + kOuterBytes + 4);
  EXPECT_EQ(sent[kOuterBytes + 12], std::byte{0x81});
  EXPECT_EQ(udp_dport(sent.subspan(kOuterBytes + 4)), 9);
}

TEST_F(FlowWalk, EntriesThatUnwrapWhatIsInNoTunnelAndHasNoTag_LeaveTheFrame) {
  const Place place = table(FlowTableType::NIC_RX);
  auto in = entry_command(place, group(place, {}), 0, {});
  in.put<"flow_context.action">(prm::number(FlowAction::FWD_DEST) | prm::number(FlowAction::DECAP) |
                                prm::number(FlowAction::VLAN_POP) |
                                prm::number(FlowAction::PACKET_REFORMAT));
  in.set<"flow_context.destination_list_size", 1>().put<"flow_context.packet_reformat_id">(
      reformat(prm::ReformatType::L3_TUNNEL_TO_L2));
  set(in, destination(prm::FlowDestination::TIR, 9));
  root(place);
  const FlowDecision decision = flows.classify(frame());
  ASSERT_EQ(decision.kind, Kind::Tir);
  EXPECT_TRUE(std::ranges::equal(decision.to.frame(frame()), frame()));
}

TEST_F(FlowWalk, Teardown_ForgetsContexts) {
  const std::uint32_t id =
      changes(FlowTableType::NIC_TX, add_action(prm::HeaderField::OUT_IP_TTL, 1));
  const std::uint32_t wrap = reformat(prm::ReformatType::L2_TO_L2_TUNNEL);
  flows.clear();
  EXPECT_FALSE(flows.free_changes(id).ok());
  EXPECT_FALSE(flows.free_reformat(wrap).ok());
}

TEST_F(FlowWalk, RootOfWhatIsSent_IsNothingForWhatComes) {
  install(FlowTableType::NIC_TX, {}, {});
  EXPECT_FALSE(flows.engaged());
  EXPECT_EQ(admit(), Kind::Pass);
  EXPECT_EQ(flows.classify(frame()).kind, Kind::Pass);
}

TEST_F(FlowWalk, RootsOfWhatComes_AreNothingForWhatIsSent) {
  install(FlowTableType::NIC_RX, {}, {});
  install(FlowTableType::RDMA_RX, {}, {});
  EXPECT_EQ(flows.send(frame()).kind, Kind::Pass);
}

TEST_F(FlowWalk, SentFrameWhoseRootWasDestroyed_GoesOut) {
  const Place place = table(FlowTableType::NIC_TX, 0, prm::FlowTableMiss::DEF);
  const Place drops = table(FlowTableType::NIC_TX, 1);
  set(entry_command(drops, group(drops, {}), 0, {}));
  root(drops);
  EXPECT_EQ(flows.send(frame()).kind, Kind::Drop);
  root(place);
  EXPECT_EQ(flows.send(frame()).kind, Kind::Pass);
  EXPECT_TRUE(flows.destroy_table(FlowTableType::NIC_TX, place.table).ok());
  EXPECT_EQ(flows.send(frame()).kind, Kind::Pass);
}

TEST_F(FlowWalk, Teardown_ForgetsTheRootOfWhatIsSent) {
  install(FlowTableType::NIC_TX, {}, {});
  flows.clear();
  EXPECT_EQ(flows.send(frame()).kind, Kind::Pass);
}

TEST_F(FlowWalk, RdmaRxNotInPath_DecidesNothing) {
  install(FlowTableType::RDMA_RX, {}, {});
  behaviours.rdma_rx_in_path = false;
  EXPECT_EQ(admit(), Kind::Pass);
}

TEST_F(FlowWalk, NicRxDrop_TakesRoceUnlessBypassed) {
  install(FlowTableType::NIC_RX, {.udp_dport = 0xffff}, {.udp_dport = 4791});
  EXPECT_EQ(admit(), Kind::Drop);
  behaviours.nic_rx_bypassed_for_roce = true;
  EXPECT_EQ(admit(), Kind::Pass);
}

TEST_F(FlowWalk, NicRxForward_LeavesRoceToItsQueuePair) {
  const Place place = table(FlowTableType::NIC_RX);
  const std::uint32_t id = group(place, {.udp_dport = 0xffff});
  set(forwarding(entry_command(place, id, 0, {.udp_dport = 4791})),
      destination(prm::FlowDestination::TIR, 9));
  root(place);
  EXPECT_EQ(admit(), Kind::Pass);
}

TEST_F(FlowWalk, DropByDstQp_TakesThatQpUnlessInert) {
  install(FlowTableType::RDMA_RX, kDstQp, {.dst_qp = kQpn});
  EXPECT_EQ(admit(), Kind::Drop);
  behaviours.dst_qp_inert = true;
  EXPECT_EQ(admit(), Kind::Pass);
}

TEST_F(FlowWalk, OpcodeNotParsed_DropMatchesNothing) {
  install(FlowTableType::RDMA_RX, kOpcode, {.opcode = 0x0a});
  behaviours.bth_opcode_not_parsed = true;
  EXPECT_EQ(admit(), Kind::Pass);
}

TEST_F(FlowWalk, HotQp_IgnoresRulesOnlyWhereThatWasSeen) {
  install(FlowTableType::RDMA_RX, kOpcode, {.opcode = 0x0a});
  EXPECT_EQ(admit(kHot), Kind::Drop);
  behaviours.hot_qp_ignores_new_rules = true;
  EXPECT_EQ(admit(kHot), Kind::Pass);
  EXPECT_EQ(admit(kCold), Kind::Drop);
}

class UnderlayWalk : public Steered {
 protected:
  UnderlayWalk() : Steered(PortType::InfiniBand) {
    behaviours.dst_qp_inert = behaviours.hot_qp_ignores_new_rules = true;
  }
  void attach() {
    const Place place = table(FlowTableType::NIC_RX);
    const std::uint32_t id = group(place, kDstQp);
    root(place, kQpn);
    set(entry_command(place, id, 0, {.dst_qp = kQpn}));
  }
};

TEST_F(UnderlayWalk, AttachedBeforeTraffic_DstQpStopsEvenAHotQp) {
  attach();
  EXPECT_EQ(admit(kCold), Kind::Drop);
  EXPECT_EQ(admit(kHot), Kind::Drop);
}

TEST_F(UnderlayWalk, AttachedToAHotQp_StopsNothing) {
  hot_qps.insert(kQpn);
  attach();
  EXPECT_EQ(admit(kHot), Kind::Pass);
}

}  // namespace
}  // namespace portcullis::model::testing
