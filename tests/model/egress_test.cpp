// SPDX-License-Identifier: BSD-3-Clause
//
// Rules over what is sent, by commands and doorbells alone: a send queue of the function, its own
// loopback, and a rule of NIC_RX that counts what comes back. It is rdma-core's
// test_root_tbl_drop_action (tests/test_mlx5_dr.py) without an operating system.
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "model/steering/sw_icm.hpp"
#include "prm/port_commands.hpp"
#include "prm/receive_commands.hpp"
#include "prm/steering_commands.hpp"
#include "prm/user_context_commands.hpp"
#include "prm/wqe.hpp"
#include "tests/model/ethernet_frames.hpp"
#include "tests/model/flow_commands.hpp"
#include "tests/model/mini_driver.hpp"
#include "tests/model/small_send_queue.hpp"
#include "trace/recording.hpp"

namespace portcullis::model::testing {
namespace {

using prm::FlowAction;
using prm::FlowTableType;
using prm::Opcode;

constexpr std::size_t kReceiveRecordAt = 0;
constexpr std::size_t kRqAt = 1 * kPageBytes;
constexpr std::size_t kReceivedAt = 2 * kPageBytes;
constexpr std::uint16_t kForbidden = 7;
constexpr std::uint16_t kAllowed = 8;

class Egress : public ::testing::Test {
 protected:
  Egress() {
    driver_.bring_up();
    queue_.emplace(driver_);
    arrived_ = add_rule(FlowTableType::NIC_RX, {}, {});
    stopped_ = add_rule(FlowTableType::NIC_TX, {.udp_dport = 0xffff}, {.udp_dport = kForbidden});
  }

  /// A root table whose one entry drops and counts; the number of its counter.
  std::uint32_t add_rule(FlowTableType type, const Match& mask, const Match& value) {
    const Place place{type, driver_.run<prm::create_flow_table_out>(table_command(type, 0))
                                .as<prm::create_flow_table_out>()
                                .get<"table_id">()};
    const Answer group = driver_.run<prm::create_flow_group_out>(group_command(place, 0, 0, mask));
    const Answer counter = driver_.run<prm::alloc_flow_counter_out>(
        command<prm::alloc_flow_counter_in>(Opcode::ALLOC_FLOW_COUNTER));
    const auto id = counter.as<prm::alloc_flow_counter_out>().get<"flow_counter_id">();
    auto in =
        entry_command(place, group.as<prm::create_flow_group_out>().get<"group_id">(), 0, value);
    in.put<"flow_context.action">(prm::number(FlowAction::DROP) | prm::number(FlowAction::COUNT));
    in.set<"flow_context.flow_counter_list_size", 1>();
    prm::Buffer<prm::flow_counter_list> list;
    list.put<"flow_counter_id">(id);
    std::vector<std::byte> bytes(in.all().begin(), in.all().end());
    bytes.insert(bytes.end(), list.all().begin(), list.all().end());
    EXPECT_TRUE(driver_.execute(bytes, prm::set_fte_out::bytes).ok());
    EXPECT_TRUE(driver_.run<prm::set_flow_table_root_out>(root_command(place)).ok());
    places_.push_back(place);
    groups_.push_back(group.as<prm::create_flow_group_out>().get<"group_id">());
    return id;
  }
  [[nodiscard]] Answer count(std::uint32_t counter) {
    auto in = command<prm::query_flow_counter_in>(Opcode::QUERY_FLOW_COUNTER);
    in.put<"flow_counter_id">(counter);
    return driver_.execute(in.all(),
                           prm::query_flow_counter_out::bytes + prm::traffic_counter::bytes);
  }
  static prm::ConstView<prm::traffic_counter> counted(const Answer& answer) {
    return prm::ConstView<prm::traffic_counter>::at(answer.out, prm::query_flow_counter_out::bytes);
  }
  [[nodiscard]] std::uint64_t packets(std::uint32_t counter) {
    return counted(count(counter)).get<"packets">();
  }
  [[nodiscard]] std::uint64_t octets(std::uint32_t counter) {
    return counted(count(counter)).get<"octets">();
  }
  /// mlx5_nic_vport_update_local_lb of mlx5/core/vport.c.
  void set_loopback(bool unicast, bool multicast) {
    auto in = command<prm::modify_nic_vport_context_in>(Opcode::MODIFY_NIC_VPORT_CONTEXT);
    in.set<"field_select.disable_uc_local_lb", 1>().set<"field_select.disable_mc_local_lb", 1>();
    in.put<"nic_vport_context.disable_uc_local_lb">(unicast ? 0U : 1U);
    in.put<"nic_vport_context.disable_mc_local_lb">(multicast ? 0U : 1U);
    ASSERT_TRUE(driver_.run<prm::modify_nic_vport_context_out>(in).ok());
  }
  void send(std::uint16_t dport, bool to_group = false) {
    queue_->post(dport, to_group);
    driver_.pass(kNsPerMs);
  }
  /// A TIR whose receive queue has one receive in memory, by the key that needs none.
  std::uint32_t make_receive() {
    const Answer keys = driver_.run<prm::query_special_contexts_out>(
        command<prm::query_special_contexts_in>(Opcode::QUERY_SPECIAL_CONTEXTS));
    const auto segment = prm::View<prm::mlx5_wqe_data_seg>::at(memory_.bytes(), kRqAt);
    segment.set<"byte_count", kPageBytes>();
    segment.put<"addr">(memory_.iova() + kReceivedAt);
    segment.put<"lkey">(keys.as<prm::query_special_contexts_out>().get<"resd_lkey">());
    memory_.bytes()[kReceiveRecordAt + 3] = std::byte{1};
    auto rq = command<prm::create_rq_in>(Opcode::CREATE_RQ);
    rq.put<"ctx.cqn">(queue_->cqn())
        .put<"ctx.wq.wq_type">(prm::WqType::CYCLIC)
        .set<"ctx.rlky", 1>();
    rq.put<"ctx.wq.pd">(driver_.alloc_pd())
        .put<"ctx.wq.dbr_addr">(memory_.iova() + kReceiveRecordAt);
    rq.set<"ctx.wq.log_wq_stride", 4>();
    const std::array<Iova, 1> pages{memory_.iova() + kRqAt};
    const auto rqn =
        driver_.run<prm::create_rq_out>(rq, pages).as<prm::create_rq_out>().get<"rqn">();
    auto ready = command<prm::modify_rq_in>(Opcode::MODIFY_RQ);
    ready.put<"rqn">(rqn).put<"ctx.state">(prm::RqState::RDY);
    EXPECT_TRUE(driver_.run<prm::modify_rq_out>(ready).ok());
    auto tir = command<prm::create_tir_in>(Opcode::CREATE_TIR);
    return driver_.run<prm::create_tir_out>(tir.put<"ctx.inline_rqn">(rqn))
        .as<prm::create_tir_out>()
        .get<"tirn">();
  }
  [[nodiscard]] std::uint64_t sent() { return driver_.model().counters().frames_sent; }

  MiniDriver driver_{Options{.behaviours = {"eth-offloads"}}};
  DmaBuffer memory_ = driver_.allocate(3 * kPageBytes);
  std::optional<SmallSendQueue> queue_;
  std::uint32_t arrived_ = 0, stopped_ = 0;
  std::vector<Place> places_;
  std::vector<std::uint32_t> groups_;
};

TEST_F(Egress, FrameThatARuleDrops_LeavesNeitherByTheWireNorByLoopback) {
  send(kForbidden);
  EXPECT_EQ(packets(stopped_), 1U);
  EXPECT_EQ(packets(arrived_), 0U);
  EXPECT_EQ(sent(), 0U);
  EXPECT_EQ(driver_.model().counters().frames_steered_away, 1U);
}

/// A table of a program that has written nothing into it.
TEST(EgressByAProgram, EntryThatMakesNoSense_IsToldInTheRecording) {
  const auto path =
      std::filesystem::temp_directory_path() / ("egress-" + std::to_string(::getpid()) + ".trace");
  {
    MiniDriver driver{Options{.behaviours = {"eth-offloads"}, .trace_path = path.string()}};
    driver.bring_up();
    SmallSendQueue queue(driver);
    prm::Buffer<prm::general_obj_in_cmd_hdr> head;
    head.put<"opcode">(Opcode::CREATE_GENERAL_OBJECT).set<"obj_type", prm::kObjTypeSwIcm>();
    prm::Buffer<prm::sw_icm> memory;
    memory.set<"log_sw_icm_size", 12>().put<"sw_icm_start_addr">(SwIcm::kEntriesAt);
    std::vector<std::byte> bytes(head.all().begin(), head.all().end());
    bytes.insert(bytes.end(), memory.all().begin(), memory.all().end());
    ASSERT_TRUE(driver.execute(bytes, prm::general_obj_out_cmd_hdr::bytes).ok());
    auto table = table_command(FlowTableType::NIC_TX, 0);
    table.set<"flow_table_context.sw_owner", 1>().put<"flow_table_context.sw_owner_icm_root_0">(
        SwIcm::kEntriesAt);
    const Answer made = driver.run<prm::create_flow_table_out>(table);
    const auto root = root_command(
        {FlowTableType::NIC_TX, made.as<prm::create_flow_table_out>().get<"table_id">()});
    ASSERT_TRUE(driver.run<prm::set_flow_table_root_out>(root).ok());
    queue.post(kAllowed, /*to_group=*/false);
    driver.pass(kNsPerMs);
    EXPECT_EQ(driver.model().counters().frames_steered_away, 1U);
  }
  std::ifstream file(path);
  const std::string said{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove(path);
  EXPECT_NE(said.find("\n# steering drops a frame at 0x1000000000: "), std::string::npos);
  EXPECT_TRUE(trace::parse_recording(said, "it").has_value());
}

TEST_F(Egress, FrameThatNoRuleDrops_ComesBackToThePort) {
  send(kAllowed);
  EXPECT_EQ(packets(stopped_), 0U);
  EXPECT_EQ(packets(arrived_), 1U);
  EXPECT_EQ(sent(), 1U);
}

/// By the loopback of the port, to whose address the outer header goes; the rule of what comes
/// counts the octets of the frame that came.
TEST_F(Egress, FrameThatARuleWraps_ComesBackInItsTunnel) {
  auto header = build_frame({.udp = true, .payload = 8, .dport = 4789});
  const Answer made = driver_.execute(reformat_command(prm::ReformatType::L2_TO_L2_TUNNEL, header),
                                      prm::alloc_packet_reformat_context_out::bytes);
  auto in = entry_command(places_.back(), 1, 0, {.udp_dport = kForbidden});
  in.put<"flow_context.group_id">(groups_.back());
  in.put<"flow_context.action">(prm::number(FlowAction::ALLOW) |
                                prm::number(FlowAction::PACKET_REFORMAT));
  in.put<"flow_context.packet_reformat_id">(
      made.as<prm::alloc_packet_reformat_context_out>().get<"packet_reformat_id">());
  ASSERT_TRUE(driver_.execute(in.all(), prm::set_fte_out::bytes).ok());
  const std::uint32_t in_tunnel =
      add_rule(FlowTableType::NIC_RX, {.udp_dport = 0xffff}, {.udp_dport = 4789});
  send(kForbidden);
  EXPECT_EQ(sent(), 1U);
  EXPECT_EQ(packets(in_tunnel), 1U);
  EXPECT_EQ(octets(in_tunnel), header.size() + SmallSendQueue::kFrameBytes);
}

TEST_F(Egress, FrameThatARuleOfWhatComesChanges_IsReceivedSo) {
  const std::array<RawAction, 1> actions{set_action(prm::HeaderField::OUT_UDP_DPORT, 0x1234, 16)};
  const Answer made = driver_.execute(changes_command(FlowTableType::NIC_RX, actions),
                                      prm::alloc_modify_header_context_out::bytes);
  auto in = forwarding(entry_command(places_.front(), groups_.front(), 0, {}));
  in.put<"flow_context.action">(prm::number(FlowAction::FWD_DEST) |
                                prm::number(FlowAction::MOD_HDR));
  in.put<"flow_context.modify_header_id">(
      made.as<prm::alloc_modify_header_context_out>().get<"modify_header_id">());
  std::vector<std::byte> message(in.all().begin(), in.all().end());
  const auto to = destination(prm::FlowDestination::TIR, make_receive());
  message.insert(message.end(), to.begin(), to.end());
  ASSERT_TRUE(driver_.execute(message, prm::set_fte_out::bytes).ok());
  send(kAllowed);
  constexpr std::size_t kPortAt = 14 + 20 + 2;
  EXPECT_EQ(memory_.bytes()[kReceivedAt + kPortAt], std::byte{0x12});
  EXPECT_EQ(memory_.bytes()[kReceivedAt + kPortAt + 1], std::byte{0x34});
}

TEST_F(Egress, LoopbackOfUnicastOff_FrameToItselfGoesOut) {
  set_loopback(false, true);
  send(kAllowed);
  EXPECT_EQ(packets(arrived_), 0U);
  EXPECT_EQ(sent(), 1U);
  send(kAllowed, true);
  EXPECT_EQ(packets(arrived_), 1U);
}

TEST_F(Egress, LoopbackOfGroupsOff_FrameToAGroupGoesOutAlone) {
  set_loopback(true, false);
  send(kAllowed, true);
  EXPECT_EQ(packets(arrived_), 0U);
  EXPECT_EQ(sent(), 1U);
  send(kAllowed);
  EXPECT_EQ(packets(arrived_), 1U);
}

TEST_F(Egress, LoopbackOnAgain_FramesComeBack) {
  set_loopback(false, false);
  set_loopback(true, true);
  send(kAllowed);
  send(kAllowed, true);
  EXPECT_EQ(packets(arrived_), 2U);
}

TEST_F(Egress, FrameAfterTheRuleIsGone_ComesBackToThePort) {
  send(kForbidden);
  ASSERT_TRUE(driver_.run<prm::delete_fte_out>(delete_command(places_.back(), 0)).ok());
  send(kForbidden);
  EXPECT_EQ(packets(stopped_), 1U);
  EXPECT_EQ(packets(arrived_), 1U);
}

}  // namespace
}  // namespace portcullis::model::testing
