// SPDX-License-Identifier: BSD-3-Clause
//
// Two servers on one wire: one whose receive queue has nothing posted and lets frames wait, and one
// that sends to it on a priority without loss, and is stopped by it.
#include <gtest/gtest.h>

#include <bit>
#include <memory>

#include "prm/ethernet_registers.hpp"
#include "prm/receive_commands.hpp"
#include "tests/model/event_queue.hpp"
#include "tests/model/flow_commands.hpp"
#include "tests/model/mini_driver.hpp"
#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

using prm::Opcode;

constexpr std::uint32_t kQpn = 0x40;
constexpr std::uint8_t kPriority = 3;
// A requester sends 16 packets in a turn, and the wire takes no time: some turns pass before it
// hears that it is stopped.
constexpr std::uint32_t kMessages = 63;
constexpr std::uint64_t kLongestNs = 10 * kNsPerMs;  // of dropless-rq below

class PausedServers : public ::testing::Test {
 protected:
  PausedServers() {
    receiver_.bring_up();
    events_ = std::make_unique<EventQueue>(receiver_, std::initializer_list<prm::EventType>{});
    make_receives();
    write(prm::EthernetRegisterId::PBMC, buffers());
    prm::Buffer<prm::pfcc_reg> control;
    control.set<"local_port", 1>().set<"prio_mask_tx", 0xff>();
    control.put<"pfctx">(static_cast<std::uint8_t>(1U << kPriority));
    write(prm::EthernetRegisterId::PFCC, control);
    sender_.port().pfc_rx = 1U << kPriority;
    QpOptions options;
    options.dest_mac = kPeerMac;
    options.dest_gid = kPeerGid;
    options.src_addr_index = kOnVlan;
    options.eth_prio = kPriority;
    options.ack_timeout = 0;  // it waits for ever
    sender_.connect(kQpn, 0x777, options);
  }

  /// 1000 cells of 128 bytes for every priority, XOFF above 40 of them.
  static prm::Buffer<prm::pbmc_reg> buffers() {
    prm::Buffer<prm::pbmc_reg> data;
    data.set<"local_port", 1>().put<"xoff_timer_value">(std::uint16_t{0xffff});
    data.put<"xoff_refresh">(std::uint16_t{0x7fff});
    prm::View<prm::bufferx_reg>::at(data.bytes<"buffer">()).put<"size">(std::uint16_t{1000});
    prm::View<prm::bufferx_reg>::at(data.bytes<"buffer">())
        .put<"xoff_threshold">(std::uint16_t{40});
    prm::View<prm::bufferx_reg>::at(data.bytes<"buffer">()).put<"xon_threshold">(std::uint16_t{20});
    return data;
  }
  template <class L>
  void write(prm::EthernetRegisterId id, const prm::Buffer<L>& data) {
    EXPECT_TRUE(access(prm::AccessRegisterOpMod::WRITE, prm::number(id), data).ok());
  }
  template <class L>
  Answer access(prm::AccessRegisterOpMod op_mod, std::uint16_t id, const prm::Buffer<L>& data) {
    auto in = command<prm::access_register_in>(Opcode::ACCESS_REG);
    in.put<"op_mod">(op_mod).put<"register_id">(id);
    std::vector<std::byte> message(in.all().begin(), in.all().end());
    message.insert(message.end(), data.all().begin(), data.all().end());
    return receiver_.execute(message, prm::access_register_out::bytes + L::bytes);
  }
  /// Counters of kPriority.
  [[nodiscard]] prm::Buffer<prm::eth_per_prio_grp_data_layout> counted() {
    prm::Buffer<prm::ppcnt_reg> data;
    data.set<"local_port", 1>().put<"grp">(prm::number(prm::PpcntGroup::PER_PRIORITY));
    data.set<"prio_tc", kPriority>();
    const Answer answer =
        access(prm::AccessRegisterOpMod::READ, prm::number(prm::RegisterId::PPCNT), data);
    const auto set = prm::ConstView<prm::ppcnt_reg>::at(answer.out, prm::access_register_out::bytes)
                         .bytes<"counter_set">();
    prm::Buffer<prm::eth_per_prio_grp_data_layout> out;
    std::ranges::copy(set, out.all().begin());
    return out;
  }
  /// An RQ with nothing posted, to which NIC_RX brings everything.
  void make_receives() {
    auto cq = command<prm::create_cq_in>(Opcode::CREATE_CQ);
    cq.set<"cq_context.log_cq_size", 4>().put<"cq_context.uar_page">(events_->uar());
    cq.put<"cq_context.c_eqn_or_apu_element">(events_->eqn());
    cq.put<"cq_context.dbr_addr">(memory_.iova());
    const std::array<Iova, 1> cq_pages{memory_.iova() + kPageBytes};
    const auto cqn =
        receiver_.run<prm::create_cq_out>(cq, cq_pages).as<prm::create_cq_out>().get<"cqn">();
    auto rq = command<prm::create_rq_in>(Opcode::CREATE_RQ);
    rq.put<"ctx.cqn">(cqn).put<"ctx.wq.wq_type">(prm::WqType::CYCLIC);
    rq.put<"ctx.wq.dbr_addr">(memory_.iova() + 64).set<"ctx.wq.log_wq_stride", 6>();
    const std::array<Iova, 1> rq_pages{memory_.iova() + 2 * kPageBytes};
    const auto rqn =
        receiver_.run<prm::create_rq_out>(rq, rq_pages).as<prm::create_rq_out>().get<"rqn">();
    auto ready = command<prm::modify_rq_in>(Opcode::MODIFY_RQ);
    ready.put<"rqn">(rqn).put<"ctx.state">(prm::RqState::RDY);
    EXPECT_TRUE(receiver_.run<prm::modify_rq_out>(ready).ok());
    auto tir = command<prm::create_tir_in>(Opcode::CREATE_TIR);
    tir.put<"ctx.inline_rqn">(rqn);
    const auto tirn =
        receiver_.run<prm::create_tir_out>(tir).as<prm::create_tir_out>().get<"tirn">();
    steer_to(tirn);
  }
  void steer_to(std::uint32_t tirn) {
    constexpr auto kType = prm::FlowTableType::NIC_RX;
    const Place place{kType, receiver_.run<prm::create_flow_table_out>(table_command(kType, 0))
                                 .as<prm::create_flow_table_out>()
                                 .get<"table_id">()};
    const auto group = receiver_.run<prm::create_flow_group_out>(group_command(place, 0, 0, {}))
                           .as<prm::create_flow_group_out>()
                           .get<"group_id">();
    const auto entry = forwarding(entry_command(place, group, 0, {}, prm::FlowAction::FWD_DEST));
    std::vector<std::byte> message(entry.all().begin(), entry.all().end());
    const auto to = destination(prm::FlowDestination::TIR, tirn);
    message.insert(message.end(), to.begin(), to.end());
    EXPECT_TRUE(receiver_.execute(message, prm::set_fte_out::bytes).ok());
    EXPECT_TRUE(receiver_.run<prm::set_flow_table_root_out>(root_command(place)).ok());
  }
  void send_all() {
    for (std::uint32_t i = 0; i < kMessages; ++i)
      sender_.post(kQpn, {0x10000, 0xabcd, lkey_, address_, kMtu, false});
    sender_.ring(kQpn);
    receiver_.pass(kNsPerMs);
  }

  std::shared_ptr<Wire> wire_ = std::make_shared<Wire>();
  MiniDriver receiver_{Options{.behaviours = {"dropless-rq=10"}, .wire = wire_, .mac = kPeerMac}};
  DmaBuffer memory_ = receiver_.allocate(4 * kPageBytes);
  Host sender_{wire_};
  Region region_ = sender_.map(8192);
  std::uint64_t address_ = std::bit_cast<std::uint64_t>(region_.bytes.data());
  std::uint32_t lkey_ = sender_.make_key(region_, access::kLocalRead);
  std::unique_ptr<EventQueue> events_;
};

TEST_F(PausedServers, ReceiverThatBacksUp_StopsTheSenderAndLosesNothing) {
  send_all();
  EXPECT_LT(sender_.counters().frames_sent, kMessages);
  EXPECT_GT(sender_.counters().frames_sent, 4U);
  const auto counts = counted();
  EXPECT_EQ(counts.get<"rx_discards_low">(), 0U);
  EXPECT_GT(counts.get<"tx_pause_low">(), 1U);  // again and again, since it is still needed
  EXPECT_EQ(sender_.port_counts().priorities[kPriority].pauses_received,
            counts.get<"tx_pause_low">());
}

TEST_F(PausedServers, QueueThatStaysEmpty_StopsTheWireNoLongerThanItMay) {
  send_all();
  receiver_.pass(kLongestNs);
  EXPECT_EQ(sender_.counters().frames_sent, kMessages);
  const auto counts = counted();
  const PauseCount stopped = sender_.port_counts().stopped[kPriority];
  EXPECT_EQ(stopped.resumed, 1U);
  EXPECT_EQ(stopped.paused_ns / kNsPerUs, counts.get<"tx_pause_duration_low">());
  EXPECT_EQ(counts.get<"rx_frames_low">(), kMessages);
  EXPECT_EQ(receiver_.model().counters().frames_dropped, kMessages);
}

TEST_F(PausedServers, SenderThatDoesNotObey_FillsTheBufferAndLosesTheRest) {
  sender_.port().pfc_rx = 0;
  auto small = buffers();
  prm::View<prm::bufferx_reg>::at(small.bytes<"buffer">()).put<"size">(std::uint16_t{50});
  write(prm::EthernetRegisterId::PBMC, small);
  send_all();
  EXPECT_EQ(sender_.counters().frames_sent, kMessages);
  EXPECT_GT(counted().get<"rx_discards_low">(), 0U);
}

}  // namespace
}  // namespace portcullis::model::testing
