// SPDX-License-Identifier: BSD-3-Clause
//
// A frame's way through entries that a program wrote. The entries are the 64 bytes that
// dr_ste_v0.c of rdma-core 44 wrote for a rule on the source address 02:00:00:00:00:09, with the
// addresses that the model hands out (model/steering/icm_addresses.hpp, sw_icm.hpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "model/ethernet/offloads.hpp"
#include "model/steering/flow_tables.hpp"
#include "model/steering/icm_addresses.hpp"
#include "prm/steering_entries.hpp"
#include "tests/model/flow_commands.hpp"
#include "tests/model/steered_frames.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CommandStatus;
using prm::FlowTableType;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = FlowDecision::Kind;

constexpr std::string_view kMissToDrop =
    "200f000000000f00000000000000000000000000000000000000000800000000"
    "dc00000000000000000000000000000000000000000000000000000000000000";
constexpr std::string_view kIntoTableOf1024 =
    "200ffc0000001c10000180000000000000000000000000000000000000000000"
    "0000000000000000000000000000000000000000000000000000000000000000";
constexpr std::string_view kIntoTableOfOne =
    "200ffc0000001c10000100200000000000000000000000000000000000000000"
    "0000000000000000000000000000000000000000000000000000000000000000";
constexpr std::string_view kSentIntoTableOfOne =
    "100ffc0000000810000100200000000000000000000000000000000000000000"
    "0000000000000000000000000000000000000000000000000000000000000000";
constexpr std::string_view kCountTagToTir =
    "201c000000000f01000000600000000080000123000000010000000800000000"
    "02000000000900000000000000000000ffffffffffff00000000000000000000";
constexpr std::string_view kPopToTir =
    "201c000000000f01000000600000000000000000400000000000000800000000"
    "02000000000900000000000000000000ffffffffffff00000000000000000000";
constexpr std::string_view kDecapToTir =
    "201c000000000f01000000600000000000000000200000000000000800000010"
    "02000000000900000000000000000000ffffffffffff00000000000000000000";
constexpr std::string_view kDecapPacketToTir =
    "601c000000000f01000000600005000000000003300000000000000800000010"
    "02000000000900000000000000000000ffffffffffff00000000000000000000";
constexpr std::string_view kRewriteToTir =
    "601c000000000f01000000600002000000000005000000000000000800000000"
    "02000000000900000000000000000000ffffffffffff00000000000000000000";
constexpr std::string_view kDrop =
    "201c000000000f08000000200000000000000000000000000000000800000000"
    "02000000000900000000000000000000ffffffffffff00000000000000000000";
constexpr std::string_view kPushTag =
    "1008000000000f08000000a00080000081002123000000000000000800000040"
    "02000000000900000000000000000000ffffffffffff00000000000000000000";
constexpr std::string_view kWrapFrame =
    "1008000000000f08000000a00219000000000001000000000000000800000040"
    "02000000000900000000000000000000ffffffffffff00000000000000000000";
constexpr std::string_view kWrapPacket =
    "1008000000000f08000000a00199000000000001000000000000000800000040"
    "02000000000900000000000000000000ffffffffffff00000000000000000000";
constexpr std::string_view kDropSent =
    "1008000000000f08000000600000000000000000000000000000000800000080"
    "02000000000900000000000000000000ffffffffffff00000000000000000000";
constexpr std::string_view kRewriteThenNext =
    "600f000000000f10000000600001000000000005000000000000000000000000"
    "0000000000000000000000000000000000000000000000000000000000000000";
constexpr std::string_view kRegisterToTir =
    "202f000000000f01000000600000000000000000000000000000000800000000"
    "0a000001000000000000000000000000ffffffff000000000000000000000000";

constexpr std::uint32_t kPlaceOf1024 = 508;  // of the rule, by dr_crc32.c
constexpr std::uint32_t kTir = 1;            // the only one there is at first
constexpr std::uint32_t kProgram = 7;
constexpr std::uint64_t kRoot = SwIcm::kEntriesAt;
constexpr std::uint64_t kNext = SwIcm::kEntriesAt + 0x10000;
constexpr std::uint32_t kLogBytes = 18;

/// As `entry`, with the address of what is next on a hit or on a miss put in its place.
Raw leading_to(std::string_view entry, std::uint64_t address) {
  Raw raw = raw_of(entry);
  const auto common = prm::View<prm::ste_rx_steering_mult>::at(std::span(raw));
  const std::uint64_t index = address >> 5 | 1;
  EXPECT_TRUE(common.try_set<"next_table_base_39_32_size">(index >> 27));
  EXPECT_TRUE(common.try_set<"next_table_base_31_5_size">(index & 0x7ffffff));
  return raw;
}
Raw missing_to(std::string_view entry, std::uint64_t address) {
  Raw raw = raw_of(entry);
  const auto common = prm::View<prm::ste_rx_steering_mult>::at(std::span(raw));
  EXPECT_TRUE(common.try_set<"miss_address_39_32">(address >> 32));
  EXPECT_TRUE(common.try_set<"miss_address_31_6">(address >> 6 & 0x3ffffff));
  return raw;
}

class ProgramEntries : public ::testing::Test {
 protected:
  ProgramEntries() {
    std::uint32_t id = 0;
    EXPECT_TRUE(memory_.create(SwIcm::kEntriesAt, kLogBytes, kProgram, memory_id_).ok());
    EXPECT_TRUE(memory_.create(SwIcm::kActionsAt, 12, kProgram, id).ok());
  }
  void put(std::uint64_t at, const Raw& raw) { EXPECT_TRUE(memory_.write(at, raw)); }
  void put(std::uint64_t at, std::string_view hex) { put(at, raw_of(hex)); }

  Verdict make_table(FlowTableType type, std::uint64_t at, std::uint32_t& id,
                     std::uint32_t uid = kProgram) {
    auto in = table_command(type, 0, 64);
    in.set<"flow_table_context.sw_owner", 1>().put<"flow_table_context.sw_owner_icm_root_0">(at);
    return flows_.create_table(
        type, prm::ConstView<prm::flow_table_context>::at(in.bytes<"flow_table_context">()), id,
        uid);
  }
  std::uint32_t table(FlowTableType type = FlowTableType::NIC_RX, std::uint64_t at = kRoot) {
    std::uint32_t id = 0;
    EXPECT_TRUE(make_table(type, at, id).ok());
    return id;
  }
  /// A table of commands with an entry for every frame.
  std::uint32_t plain_table(std::uint32_t level, const Raw& destinations, std::uint32_t count,
                            std::uint32_t tag = 0) {
    const auto made = table_command(FlowTableType::NIC_RX, 0, level);
    std::uint32_t id = 0;
    EXPECT_TRUE(flows_
                    .create_table(FlowTableType::NIC_RX,
                                  prm::ConstView<prm::flow_table_context>::at(
                                      made.bytes<"flow_table_context">()),
                                  id, kProgram)
                    .ok());
    const Place place{FlowTableType::NIC_RX, id};
    prm::Buffer<prm::create_flow_group_in> group = group_command(place, 0, 0, {});
    std::uint32_t group_id = 0;
    EXPECT_TRUE(
        flows_.create_group(prm::ConstView<prm::create_flow_group_in>(group.all()), group_id).ok());
    auto entry = forwarding(entry_command(place, group_id, 0, {}));
    entry.put<"flow_context.flow_tag">(tag).put<"flow_context.destination_list_size">(count);
    EXPECT_TRUE(flows_.set_entry(prm::ConstView<prm::set_fte_in>(entry.all()), destinations).ok());
    return id;
  }
  void root(std::uint32_t id, FlowTableType type = FlowTableType::NIC_RX) {
    const auto in = root_command({type, id});
    EXPECT_TRUE(flows_.set_root(prm::ConstView<prm::set_flow_table_root_in>(in.all())).ok());
  }
  /// NIC_RX begins with a table of one entry, which is `first`, and behind it is `second`.
  void receives_by(std::string_view first, std::string_view second) {
    put(kRoot, first);
    put(kNext, second);
    root(table());
  }
  void sends_by(std::string_view second) {
    put(kRoot, kSentIntoTableOfOne);
    put(kNext, second);
    root(table(FlowTableType::NIC_TX), FlowTableType::NIC_TX);
  }
  Kind classify(const Raw& frame) { return flows_.classify(frame).kind; }
  /// What a queue gets of `frame`.
  static Raw taken(const FlowDecision& decision, const Raw& frame) {
    const auto got = decision.to.frame(frame);
    return {got.begin(), got.end()};
  }

  SwIcm memory_;
  std::uint32_t memory_id_ = 0;
  Behaviours behaviours_;
  std::uint32_t last_tir_ = kTir;
  std::vector<std::string> told_;
  FlowTables flows_{{&behaviours_, PortType::Ethernet,
                     [](void* self, std::uint32_t number) {
                       return number <= static_cast<ProgramEntries*>(self)->last_tir_;
                     },
                     nullptr, nullptr, this, &memory_,
                     [](void* self, std::string_view text) {
                       static_cast<ProgramEntries*>(self)->told_.emplace_back(text);
                     }}};
  const Raw frame_ = finished({.payload = 8});
  const Raw tagged_ = finished({.tag = 0x2123, .payload = 8});
};

TEST_F(ProgramEntries, AlwaysMiss_GoesToTheDropOfWhatComes) {
  put(kRoot, kMissToDrop);
  root(table());
  EXPECT_EQ(classify(frame_), Kind::Drop);
  EXPECT_THAT(told_, IsEmpty()) << "as its program wants it";
}

TEST_F(ProgramEntries, FrameOfTheRule_GoesToTheTirWithTagAndIsCounted) {
  ASSERT_EQ(flows_.counters.allocate(), 1U);
  receives_by(kIntoTableOfOne, kCountTagToTir);
  const FlowDecision decision = flows_.classify(frame_);
  EXPECT_EQ(decision.kind, Kind::Tir);
  EXPECT_EQ(decision.to.tirn, kTir);
  EXPECT_EQ(decision.to.flow_tag, 0x123U);
  EXPECT_EQ(flows_.counters.find(1)->packets, 1U);
  EXPECT_EQ(flows_.counters.find(1)->octets, frame_.size());
}

TEST_F(ProgramEntries, InATableOf1024_IsFoundWhereRdmaCorePutsIt) {
  put(kRoot, kIntoTableOf1024);
  for (std::uint64_t i = 0; i < 1024; ++i) put(kNext + i * 64, kMissToDrop);
  put(kNext + kPlaceOf1024 * 64, kCountTagToTir);
  root(table());
  EXPECT_EQ(classify(frame_), Kind::Tir);
}

TEST_F(ProgramEntries, FrameOfAnotherSource_GoesWhereAMissLeads) {
  receives_by(kIntoTableOfOne, kCountTagToTir);
  Raw other = frame_;
  other[11] = std::byte{8};
  EXPECT_EQ(classify(other), Kind::Drop);
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(ProgramEntries, MissThatLeadsToAnotherEntry_IsLookedAtThere) {
  receives_by(kIntoTableOfOne, kDrop);
  put(kNext, missing_to(kDrop, kNext + 64));
  put(kNext + 64, leading_to(kIntoTableOfOne, icm::address_of(icm::kTirsAt, kTir)));
  Raw other = frame_;
  other[11] = std::byte{8};
  EXPECT_EQ(classify(other), Kind::Tir);
}

TEST_F(ProgramEntries, TagThatIsPopped_QueueGetsTheFrameWithout) {
  receives_by(kIntoTableOfOne, kPopToTir);
  EXPECT_EQ(taken(flows_.classify(tagged_), tagged_), frame_);
}

TEST_F(ProgramEntries, NoTagToPop_QueueGetsTheFrame) {
  receives_by(kIntoTableOfOne, kPopToTir);
  EXPECT_EQ(taken(flows_.classify(frame_), frame_), frame_);
}

Raw in_vxlan(const Raw& frame) {
  Raw header = build_frame({.udp = true, .dport = 4789});
  const Raw vxlan = raw_of("0800000000000700");
  header.insert(header.end(), vxlan.begin(), vxlan.end());
  return wrap(frame, header, TunnelLoad::WholeFrame);
}

TEST_F(ProgramEntries, FrameInATunnel_QueueGetsWhatIsInside) {
  receives_by(kIntoTableOfOne, kDecapToTir);
  const Raw outside = in_vxlan(frame_);
  EXPECT_EQ(taken(flows_.classify(outside), outside), frame_);
}

TEST_F(ProgramEntries, FrameInNoTunnel_IsLostAsItsEntryWants) {
  receives_by(kIntoTableOfOne, kDecapToTir);
  EXPECT_EQ(classify(frame_), Kind::Drop);
  EXPECT_THAT(told_, IsEmpty()) << "the entry is right";
}

TEST_F(ProgramEntries, PacketInATunnel_QueueGetsItBehindAHeaderThatActionsFill) {
  receives_by(kIntoTableOfOne, kDecapPacketToTir);
  // dr_ste_v0_set_action_decap_l3_list for 02:50:43:00:00:09, 02:50:43:00:00:08 and IPv4.
  put(SwIcm::kActionsAt + 3 * 64,
      "0200100002504300020110000250430002000010000000090202201000000800"
      "0201001000000008");
  Raw outer = build_frame({.udp = true});
  outer.resize(34);
  outer[23] = std::byte{47};
  const Raw gre = raw_of("00000800");
  outer.insert(outer.end(), gre.begin(), gre.end());
  const Raw outside = wrap(frame_, outer, TunnelLoad::NetworkPacket);
  Raw wanted = frame_;
  std::ranges::copy(raw_of("025043000009025043000008"), wanted.begin());
  EXPECT_EQ(taken(flows_.classify(outside), outside), wanted);
}

TEST_F(ProgramEntries, ActionsOnHeaders_QueueGetsTheChangedFrame) {
  receives_by(kIntoTableOfOne, kRewriteToTir);
  put(SwIcm::kActionsAt + 5 * 64, "02011000888888880201001000008888");
  Raw wanted = frame_;
  std::fill_n(wanted.begin() + 6, 6, std::byte{0x88});
  EXPECT_EQ(taken(flows_.classify(frame_), frame_), wanted);
}

TEST_F(ProgramEntries, RegisterThatAnEntryWrites_IsComparedByTheNext) {
  put(kRoot, kRewriteThenNext);
  put(SwIcm::kActionsAt + 5 * 64, "010c202000030000");  // the source address of IPv4
  put(kRoot + 64, kRegisterToTir);
  root(table());
  EXPECT_EQ(classify(frame_), Kind::Tir);
  EXPECT_EQ(classify(finished({.payload = 8, .source = {10, 0, 0, 3}})), Kind::Drop);
}

TEST_F(ProgramEntries, TagForWhatIsSent_GoesOutWithIt) {
  sends_by(kPushTag);
  const FlowDecision decision = flows_.send(frame_);
  EXPECT_EQ(decision.kind, Kind::Pass);
  EXPECT_EQ(taken(decision, frame_), tagged_);
}

/// The first header that is made, which the entries name.
void make_header(FlowTables& flows, prm::ReformatType type, const Raw& header) {
  const auto command = reformat_command(type, header);
  const auto in = prm::ConstView<prm::alloc_packet_reformat_context_in>::at(command);
  std::uint32_t id = 0;
  ASSERT_TRUE(flows.headers
                  .allocate_reformat(
                      prm::ConstView<prm::packet_reformat_context_in>::at(
                          in.bytes<"packet_reformat_context">()),
                      std::span(command).subspan(prm::alloc_packet_reformat_context_in::bytes), id)
                  .ok());
  ASSERT_EQ(id, 1U);
}

TEST_F(ProgramEntries, HeaderForWhatIsSent_GoesAroundIt) {
  const Raw header = in_vxlan({});
  make_header(flows_, prm::ReformatType::L2_TO_L2_TUNNEL, header);
  sends_by(kWrapFrame);
  EXPECT_EQ(taken(flows_.send(frame_), frame_), wrap(frame_, header, TunnelLoad::WholeFrame));
}

TEST_F(ProgramEntries, HeaderForAPacket_TakesThePlaceOfTheFramesOwn) {
  const Raw header = in_vxlan({});
  make_header(flows_, prm::ReformatType::L2_TO_L3_TUNNEL, header);
  sends_by(kWrapPacket);
  EXPECT_EQ(taken(flows_.send(frame_), frame_), wrap(frame_, header, TunnelLoad::NetworkPacket));
}

TEST_F(ProgramEntries, HeaderOfTheOtherKind_DropsAndIsTold) {
  make_header(flows_, prm::ReformatType::L2_TO_L2_TUNNEL, in_vxlan({}));
  sends_by(kWrapPacket);
  EXPECT_EQ(flows_.send(frame_).kind, Kind::Drop);
  EXPECT_THAT(told_, Contains(HasSubstr("no such header")));
}

TEST_F(ProgramEntries, HeaderThatIsNotThere_DropsAndIsTold) {
  sends_by(kWrapFrame);
  EXPECT_EQ(flows_.send(frame_).kind, Kind::Drop);
  EXPECT_THAT(told_, Contains(HasSubstr("no such header")));
}

TEST_F(ProgramEntries, DropOfWhatIsSent_KeepsOthers) {
  sends_by(kDropSent);
  EXPECT_EQ(flows_.send(frame_).kind, Kind::Drop);
  Raw other = frame_;
  other[11] = std::byte{8};
  EXPECT_EQ(flows_.send(other).kind, Kind::Pass);
}

TEST_F(ProgramEntries, TableOfCommandsAsDestination_GoesOnThere) {
  const std::uint32_t behind =
      plain_table(100, destination(prm::FlowDestination::TIR, kTir), 1, /*tag=*/9);
  put(kRoot, leading_to(kIntoTableOfOne, icm::address_of(icm::kTablesAt, behind)));
  root(table());
  const FlowDecision decision = flows_.classify(frame_);
  EXPECT_EQ(decision.kind, Kind::Tir);
  EXPECT_EQ(decision.to.flow_tag, 9U);
}

/// dr_action_create_dest_array_tbl of dr_action.c: a table of commands before the program's.
TEST_F(ProgramEntries, SeveralDestinations_EachGetsTheFrame) {
  last_tir_ = 2;
  put(kRoot, leading_to(kIntoTableOfOne, icm::address_of(icm::kTirsAt, kTir)));
  const std::uint32_t last = table();
  Raw list = destination(prm::FlowDestination::TIR, 2);
  const Raw more = destination(prm::FlowDestination::FLOW_TABLE, last);
  list.insert(list.end(), more.begin(), more.end());
  root(plain_table(1, list, 2));
  const FlowDecision decision = flows_.classify(frame_);
  EXPECT_EQ(decision.to.tirn, 2U);
  ASSERT_EQ(decision.copies.size(), 1U);
  EXPECT_EQ(decision.copies[0].tirn, kTir);
}

TEST_F(ProgramEntries, Sampler_EveryFourthGoesToItsTableToo) {
  last_tir_ = 2;
  put(kNext, leading_to(kIntoTableOfOne, icm::address_of(icm::kTirsAt, kTir)));
  prm::Buffer<prm::sampler_obj> context;
  context.put<"sample_ratio">(4U)
      .put<"sample_table_id">(plain_table(100, destination(prm::FlowDestination::TIR, 2), 1))
      .put<"default_table_id">(table(FlowTableType::NIC_RX, kNext));
  std::uint32_t id = 0;
  ASSERT_TRUE(flows_.create_sampler(prm::ConstView<prm::sampler_obj>(context.all()), id).ok());
  prm::Buffer<prm::sampler_obj> told;
  ASSERT_TRUE(flows_.query_sampler(id, told.view()).ok());
  put(kRoot, leading_to(kIntoTableOfOne, told.get<"sw_steering_icm_address_rx">()));
  root(table());
  std::size_t copies = 0;
  for (int i = 0; i < 40; ++i) {
    const FlowDecision decision = flows_.classify(frame_);
    EXPECT_EQ(decision.to.tirn, kTir);
    copies += decision.copies.size();
  }
  EXPECT_EQ(copies, 10U);
}

TEST_F(ProgramEntries, SamplerOverATable_KeepsItFromBeingDestroyed) {
  const std::uint32_t sampled = plain_table(100, destination(prm::FlowDestination::TIR, kTir), 1);
  prm::Buffer<prm::sampler_obj> context;
  context.put<"sample_ratio">(1U).put<"sample_table_id">(sampled);
  put(kRoot, kMissToDrop);
  const std::uint32_t next = table();
  context.put<"default_table_id">(next);
  std::uint32_t id = 0;
  ASSERT_TRUE(flows_.create_sampler(prm::ConstView<prm::sampler_obj>(context.all()), id).ok());
  EXPECT_EQ(flows_.destroy_table(FlowTableType::NIC_RX, next).status,
            CommandStatus::BAD_RES_STATE_ERR);
  ASSERT_TRUE(flows_.destroy_sampler(id).ok());
  EXPECT_TRUE(flows_.destroy_table(FlowTableType::NIC_RX, next).ok());
}

/// DPDK's rules begin with a jump for every frame into a table that drops what it does not know.
TEST_F(ProgramEntries, DropOfATableForEveryFrame_LeavesPacketsOfQueuePairs) {
  put(kRoot, kMissToDrop);
  root(table());
  EXPECT_EQ(flows_.admit(frame_, 0x42, /*hot=*/false).kind, Kind::Pass);
  EXPECT_EQ(classify(frame_), Kind::Drop);
}

// ---- what makes no sense ----

TEST_F(ProgramEntries, EntryThatLeadsToItself_DropsAndIsTold) {
  put(kRoot, leading_to(kIntoTableOfOne, kRoot));
  root(table());
  EXPECT_EQ(classify(frame_), Kind::Drop);
  EXPECT_THAT(told_, Contains(HasSubstr("does not end")));
}

TEST_F(ProgramEntries, TwoTablesThatLeadToEachOther_DropAndAreTold) {
  put(kRoot, kMissToDrop);
  const std::uint32_t second = table(FlowTableType::NIC_RX, kNext);
  const std::uint32_t between =
      plain_table(1, destination(prm::FlowDestination::FLOW_TABLE, second), 1);
  put(kNext, leading_to(kIntoTableOfOne, icm::address_of(icm::kTablesAt, between)));
  root(between);
  EXPECT_EQ(classify(frame_), Kind::Drop);
  EXPECT_THAT(told_, Contains(HasSubstr("does not end")));
}

TEST_F(ProgramEntries, CopiesThatMakeCopies_EndAndAreTold) {
  put(kRoot, kMissToDrop);
  const std::uint32_t second = table(FlowTableType::NIC_RX, kNext);
  Raw list = destination(prm::FlowDestination::TIR, kTir);
  const Raw more = destination(prm::FlowDestination::FLOW_TABLE, second);
  list.insert(list.end(), more.begin(), more.end());
  const std::uint32_t between = plain_table(1, list, 2);
  put(kNext, leading_to(kIntoTableOfOne, icm::address_of(icm::kTablesAt, between)));
  root(between);
  const FlowDecision decision = flows_.classify(frame_);
  EXPECT_EQ(decision.kind, Kind::Tir);
  EXPECT_LT(decision.copies.size(), FlowTables::kMostSteps);
  EXPECT_THAT(told_, Contains(HasSubstr("does not end")));
}

TEST_F(ProgramEntries, MemoryOfAnotherProgram_DropsAndIsTold) {
  constexpr std::uint64_t kOthers = SwIcm::kEntriesAt + (std::uint64_t{1} << kLogBytes);
  std::uint32_t id = 0;
  ASSERT_TRUE(memory_.create(kOthers, 12, kProgram + 1, id).ok());
  put(kOthers, leading_to(kIntoTableOfOne, icm::address_of(icm::kTirsAt, kTir)));
  put(kRoot, leading_to(kIntoTableOfOne, kOthers));
  root(table());
  EXPECT_EQ(classify(frame_), Kind::Drop);
  EXPECT_THAT(told_, Contains(HasSubstr("another program's memory")));
}

TEST_F(ProgramEntries, AddressWhereNothingIs_DropsAndIsTold) {
  put(kRoot, leading_to(kIntoTableOfOne, 0x1000));
  root(table());
  EXPECT_EQ(classify(frame_), Kind::Drop);
  EXPECT_THAT(told_, Contains(HasSubstr("it leads to 0x1000, where nothing is")));
}

TEST_F(ProgramEntries, TirThatIsGone_DropsAndIsTold) {
  receives_by(kIntoTableOfOne, kCountTagToTir);
  last_tir_ = 0;
  EXPECT_EQ(classify(frame_), Kind::Drop);
  EXPECT_THAT(told_, Contains(HasSubstr("where nothing is")));
}

TEST_F(ProgramEntries, MemoryThatIsGone_DropsAndIsTold) {
  receives_by(kIntoTableOfOne, kCountTagToTir);
  ASSERT_TRUE(memory_.destroy(memory_id_).ok());
  EXPECT_EQ(classify(frame_), Kind::Drop);
  EXPECT_THAT(told_, Contains(HasSubstr("its memory is gone")));
}

TEST_F(ProgramEntries, EntryOfWhatComes_IsNoneForWhatIsSent) {
  put(kRoot, kIntoTableOfOne);
  root(table(FlowTableType::NIC_TX), FlowTableType::NIC_TX);
  EXPECT_EQ(flows_.send(frame_).kind, Kind::Drop);
  EXPECT_THAT(told_, Contains(HasSubstr("type that is not offered")));
}

TEST_F(ProgramEntries, WhatIsSent_ReachesNoTir) {
  put(kRoot, leading_to(kSentIntoTableOfOne, icm::address_of(icm::kTirsAt, kTir)));
  root(table(FlowTableType::NIC_TX), FlowTableType::NIC_TX);
  EXPECT_EQ(flows_.send(frame_).kind, Kind::Drop);
  EXPECT_THAT(told_, Contains(HasSubstr("where nothing is")));
}

TEST_F(ProgramEntries, ZeroedEntry_DropsAndIsTold) {
  root(table());
  EXPECT_EQ(classify(frame_), Kind::Drop);
  EXPECT_THAT(told_, Contains(HasSubstr("type that is not offered")));
}

TEST_F(ProgramEntries, LookupThatIsNotOffered_DropsAndIsTold) {
  Raw entry = raw_of(kCountTagToTir);
  entry[1] = std::byte{0x22};  // DR_STE_V0_LU_TYPE_FLEX_PARSER_0
  put(kRoot, entry);
  root(table());
  EXPECT_EQ(classify(frame_), Kind::Drop);
  EXPECT_THAT(told_, Contains(HasSubstr("lookup type is not offered")));
}

TEST_F(ProgramEntries, OtherFunction_DropsAndIsTold) {
  Raw entry = raw_of(kIntoTableOfOne);
  entry[5] = std::byte{3};  // next_table_base_63_48
  put(kRoot, entry);
  root(table());
  EXPECT_EQ(classify(frame_), Kind::Drop);
  EXPECT_THAT(told_, Contains(HasSubstr("another function")));
}

TEST_F(ProgramEntries, ActionsOutsideOfTheProgramsMemory_DropAndAreTold) {
  Raw entry = raw_of(kRewriteToTir);
  entry[16] = std::byte{0x7f};  // header_re_write_actions_pointer
  put(kRoot, entry);
  root(table());
  EXPECT_EQ(classify(frame_), Kind::Drop);
  EXPECT_THAT(told_, Contains(HasSubstr("not in the program's memory")));
}

TEST_F(ProgramEntries, MoreActionsThanAFrameMayMeet_DropAndAreTold) {
  Raw entry = raw_of(kRewriteToTir);
  entry[12] = entry[13] = std::byte{0xff};  // number_of_re_write_actions
  put(kRoot, entry);
  root(table());
  EXPECT_EQ(classify(frame_), Kind::Drop);
  EXPECT_THAT(told_, Contains(HasSubstr("too many")));
}

/// Whatever a program writes, a frame comes to an end: entries of random bytes, most of which lead
/// on into the program's own memory.
TEST_F(ProgramEntries, RandomEntries_EveryFrameEnds) {
  std::mt19937 random(20);
  const auto any = [&random](std::uint64_t below) { return random() % below; };
  std::size_t ended = 0;
  for (int round = 0; round < 200; ++round) {
    for (std::uint64_t i = 0; i < 64; ++i) {
      Raw raw = leading_to(kRewriteThenNext, kRoot + any(64) * 64);
      for (int flips = 0; flips < 6; ++flips)
        raw[any(raw.size())] ^= static_cast<std::byte>(1U << any(8));
      put(kRoot + i * 64, raw);
    }
    const std::uint32_t id = table();
    root(id);
    ended += classify(round % 2 == 0 ? frame_ : in_vxlan(tagged_)) == Kind::Drop ? 1 : 0;
  }
  EXPECT_GT(ended, 100U);
}

TEST_F(ProgramEntries, TableInSomebodyElsesMemory_IsRefused) {
  std::uint32_t id = 0;
  EXPECT_EQ(make_table(FlowTableType::NIC_RX, kRoot, id, kProgram + 1).status,
            CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(make_table(FlowTableType::NIC_RX, 0x1000, id).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(make_table(FlowTableType::NIC_RX, kRoot + 32, id).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(make_table(FlowTableType::RDMA_RX, kRoot, id).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(ProgramEntries, GroupInAProgramsTable_IsRefused) {
  const auto group = group_command({FlowTableType::NIC_RX, table()}, 0, 0, {});
  std::uint32_t id = 0;
  EXPECT_EQ(flows_.create_group(prm::ConstView<prm::create_flow_group_in>(group.all()), id).status,
            CommandStatus::BAD_PARAM_ERR);
}

TEST_F(ProgramEntries, QueryOfATable_SaysWhereItsEntriesAre) {
  prm::Buffer<prm::flow_table_context> context;
  ASSERT_TRUE(flows_.query_table(FlowTableType::NIC_RX, table(), context.view()).ok());
  EXPECT_EQ(context.get<"sw_owner">(), 1U);
  EXPECT_EQ(context.get<"sw_owner_icm_root_0">(), kRoot);
}

}  // namespace
}  // namespace portcullis::model::testing
