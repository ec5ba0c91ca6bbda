// SPDX-License-Identifier: BSD-3-Clause
//
// SEND: what leaves, where it lands, and what both sides are told when it cannot. Two queue pairs
// of one host over its own wire; a bare peer where single packets matter.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CqeOpcode;
using prm::CqeSyndrome;
using prm::WqeOpcode;

constexpr std::uint32_t kSender = 0x40;
constexpr std::uint32_t kReceiver = 0x41;
constexpr std::uint32_t kImmediate = 0x03020100;

class Send : public ::testing::Test {
 protected:
  Send() {
    fill_pattern(source.bytes, 7);
    options.log_rq_size = 2;
  }

  void connect() {
    host.connect(kSender, kReceiver, options);
    host.connect(kReceiver, kSender, options);
  }
  void post(std::uint32_t bytes, WqeOpcode opcode = WqeOpcode::SEND) {
    const std::array<Piece, 1> pieces{Piece{address_of(source), bytes, lkey}};
    host.post_raw(kSender, opcode, segments_of(pieces), true, kImmediate);
    host.ring(kSender);
  }
  void receive_at(std::size_t at, std::uint32_t bytes) {
    const std::array<Piece, 1> pieces{Piece{address_of(target) + at, bytes, lkey_target}};
    host.post_receive(kReceiver, pieces);
  }
  [[nodiscard]] bool arrived(std::size_t at, std::size_t bytes) const {
    return std::ranges::equal(target.bytes.subspan(at, bytes), source.bytes.first(bytes));
  }
  [[nodiscard]] Cqe completion_of(std::uint32_t qpn) {
    for (const Cqe& cqe : completions) {
      if (cqe.qpn == qpn) return cqe;
    }
    ADD_FAILURE() << "no completion of " << qpn;
    return {};
  }
  void run() {
    host.run();
    completions = host.drain_cq();
  }

  Host host;
  QpOptions options;
  Region source = host.map(8192);
  Region target = host.map(8192);
  std::uint32_t lkey = host.make_key(source, access::kLocalRead);
  std::uint32_t lkey_target = host.make_key(target, access::kLocalWrite);
  std::vector<Cqe> completions;
};

TEST_F(Send, Message_LandsInTheReceiveAndCompletesOnBothSides) {
  connect();
  receive_at(128, 1000);
  post(1000);
  run();
  EXPECT_TRUE(arrived(128, 1000));
  EXPECT_EQ(completion_of(kSender).opcode, CqeOpcode::REQ);
  EXPECT_EQ(completion_of(kReceiver).opcode, CqeOpcode::RESP_SEND);
  EXPECT_EQ(completion_of(kReceiver).byte_cnt, 1000U);
  EXPECT_EQ(completions.size(), 2U);
}

TEST_F(Send, MessageOfSeveralPackets_LandsWhole) {
  connect();
  receive_at(0, 8192);
  post(3 * kMtu + 5);
  run();
  EXPECT_TRUE(arrived(0, 3 * kMtu + 5));
  EXPECT_EQ(completion_of(kReceiver).byte_cnt, 3 * kMtu + 5);
}

TEST_F(Send, Immediate_ComesAsItWasGivenOnceTheLastPacketIsIn) {
  connect();
  receive_at(0, 8192);
  post(kMtu + 1, WqeOpcode::SEND_IMM);
  run();
  EXPECT_EQ(completion_of(kReceiver).opcode, CqeOpcode::RESP_SEND_IMM);
  EXPECT_EQ(completion_of(kReceiver).immediate, kImmediate);
  EXPECT_TRUE(arrived(0, kMtu + 1));
}

TEST_F(Send, MessageOfNoBytes_ConsumesAReceive) {
  connect();
  host.post_receive(kReceiver, {});
  post(0, WqeOpcode::SEND_IMM);
  run();
  EXPECT_EQ(completion_of(kReceiver).opcode, CqeOpcode::RESP_SEND_IMM);
  EXPECT_EQ(completion_of(kReceiver).byte_cnt, 0U);
}

TEST_F(Send, TwoPieces_AreFilledInOrderAcrossPackets) {
  connect();
  const std::array<Piece, 2> pieces{Piece{address_of(target) + 4096, 700, lkey_target},
                                    Piece{address_of(target), 2000, lkey_target}};
  host.post_receive(kReceiver, pieces);
  post(2000);
  run();
  EXPECT_TRUE(arrived(4096, 700));
  EXPECT_TRUE(std::ranges::equal(target.bytes.first(1300), source.bytes.subspan(700, 1300)));
  EXPECT_EQ(target.bytes[1300], std::byte{0});
}

TEST_F(Send, Receives_AreConsumedInOrderPastTheEndOfTheQueue) {
  connect();
  for (std::uint32_t message = 0; message < 9; ++message) {
    receive_at(message * 64, 64);
    post(64);
    run();
    EXPECT_TRUE(arrived(message * 64, 64));
    EXPECT_EQ(completion_of(kReceiver).wqe_counter, message);
  }
}

TEST_F(Send, WithoutAReceive_WaitsAndLandsOnceThereIsOne) {
  connect();
  post(64);
  run();
  EXPECT_TRUE(completions.empty());
  receive_at(0, 64);
  host.run_until(host.now_ns() + 1'000'000);
  EXPECT_TRUE(arrived(0, 64));
  EXPECT_EQ(host.drain_cq().size(), 2U);
}

TEST_F(Send, ReceiverThatIsNeverReady_IsRnrRetryExceeded) {
  options.rnr_retry = 2;
  connect();
  post(64);
  host.run_until(1'000'000);
  EXPECT_EQ(host.counters().naks_sent, 0U);  // an RNR NAK is of a type of its own
  completions = host.drain_cq();
  EXPECT_EQ(completion_of(kSender).syndrome, CqeSyndrome::RNR_RETRY_EXC_ERR);
  EXPECT_EQ(host.state(kReceiver), prm::QpState::RTS);
}

TEST_F(Send, QueuePairWithoutAReceiveQueue_IsNeverReady) {
  options.log_rq_size.reset();
  options.rnr_retry = 0;
  connect();
  post(64);
  run();
  EXPECT_EQ(completion_of(kSender).syndrome, CqeSyndrome::RNR_RETRY_EXC_ERR);
}

TEST_F(Send, ReceiveTooShort_IsALengthErrorHereAndAnInvalidRequestThere) {
  connect();
  receive_at(0, 63);
  post(64);
  run();
  EXPECT_EQ(completion_of(kReceiver).opcode, CqeOpcode::RESP_ERR);
  EXPECT_EQ(completion_of(kReceiver).syndrome, CqeSyndrome::LOCAL_LENGTH_ERR);
  EXPECT_EQ(completion_of(kSender).syndrome, CqeSyndrome::REMOTE_INVAL_REQ_ERR);
  EXPECT_EQ(target.bytes[0], std::byte{0});
  EXPECT_EQ(host.state(kReceiver), prm::QpState::ERR);
}

TEST_F(Send, ReceiveWhoseKeyAllowsNoWrite_IsAProtectionErrorHereAndAnOperationErrorThere) {
  connect();
  const std::array<Piece, 1> pieces{Piece{address_of(source), 64, lkey}};
  host.post_receive(kReceiver, pieces);
  post(64);
  run();
  EXPECT_EQ(completion_of(kReceiver).syndrome, CqeSyndrome::LOCAL_PROT_ERR);
  EXPECT_EQ(completion_of(kSender).syndrome, CqeSyndrome::REMOTE_OP_ERR);
}

TEST_F(Send, KeyOfTheReceiveDestroyedInsideAMessage_StopsIt) {
  connect();
  Peer peer(host);
  Path path = Peer::path_to(kReceiver);
  QpOptions from_peer = options;
  from_peer.dest_mac = kPeerMac;
  from_peer.dest_gid = kPeerGid;
  host.connect(0x42, 0x777, from_peer);
  path.dest_qpn = 0x42;
  const std::array<Piece, 1> pieces{Piece{address_of(target), 4096, lkey_target}};
  host.post_receive(0x42, pieces);
  PacketHeader header;
  header.opcode = BthOpcode::SendFirst;
  header.psn = options.psn;
  peer.send(path, header, source.bytes.first(kMtu));
  host.run();
  host.destroy_key(lkey_target);
  header.opcode = BthOpcode::SendLast;
  header.psn = options.psn + 1;
  peer.send(path, header, source.bytes.first(64));
  host.run();
  EXPECT_TRUE(arrived(0, kMtu));
  EXPECT_EQ(target.bytes[kMtu], std::byte{0});
  EXPECT_EQ(host.poll_cq().value_or(Cqe{}).syndrome, CqeSyndrome::LOCAL_PROT_ERR);
}

TEST_F(Send, WriteInsideASend_IsAnInvalidRequest) {
  Peer peer(host);
  options.dest_mac = kPeerMac;
  options.dest_gid = kPeerGid;
  host.connect(kReceiver, 0x777, options);
  receive_at(0, 8192);
  PacketHeader header;
  header.opcode = BthOpcode::SendFirst;
  header.psn = options.psn;
  peer.send(Peer::path_to(kReceiver), header, source.bytes.first(kMtu));
  header.opcode = BthOpcode::WriteLast;
  header.psn = options.psn + 1;
  peer.send(Peer::path_to(kReceiver), header, source.bytes.first(64));
  host.run();
  const auto answers = peer.take();
  ASSERT_FALSE(answers.empty());
  EXPECT_EQ(answers.back().syndrome, syndrome::kNakInvalidRequest);
}

TEST_F(Send, PacketsBehindAnRnrNak_AreDroppedInSilence) {
  Peer peer(host);
  options.dest_mac = kPeerMac;
  options.dest_gid = kPeerGid;
  options.min_rnr_nak = 14;
  host.connect(kReceiver, 0x777, options);
  PacketHeader header;
  header.opcode = BthOpcode::SendOnly;
  header.psn = options.psn;
  peer.send(Peer::path_to(kReceiver), header, source.bytes.first(64));
  header.psn = options.psn + 1;
  peer.send(Peer::path_to(kReceiver), header, source.bytes.first(64));
  host.run();
  const auto answers = peer.take();
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].syndrome, syndrome::kRnrNak | 14);
  EXPECT_EQ(answers[0].psn, options.psn);
}

TEST_F(Send, Duplicate_IsAcknowledgedAndConsumesNothing) {
  Peer peer(host);
  options.dest_mac = kPeerMac;
  options.dest_gid = kPeerGid;
  host.connect(kReceiver, 0x777, options);
  receive_at(0, 64);
  receive_at(64, 64);
  PacketHeader header;
  header.opcode = BthOpcode::SendOnly;
  header.psn = options.psn;
  header.ack_request = true;
  for (int i = 0; i < 2; ++i) peer.send(Peer::path_to(kReceiver), header, source.bytes.first(64));
  host.run();
  EXPECT_EQ(host.drain_cq().size(), 1U);
  EXPECT_EQ(peer.take().size(), 2U);
  EXPECT_EQ(target.bytes[64], std::byte{0});
}

TEST_F(Send, PostedReceives_AreFlushedInOrderWhenTheQueuePairFails) {
  connect();
  for (int i = 0; i < 3; ++i) receive_at(0, 64);
  ASSERT_TRUE(host.modify(kReceiver, QpTransition::ToErr).ok());
  run();
  ASSERT_EQ(completions.size(), 3U);
  EXPECT_EQ(completions[0].opcode, CqeOpcode::RESP_ERR);
  EXPECT_EQ(completions[0].syndrome, CqeSyndrome::WR_FLUSH_ERR);
  EXPECT_EQ(completions[2].wqe_counter, 2U);
}

/// A table of NIC_RX is what a network interface has.
void give_a_netdev(Host& host) {
  prm::Buffer<prm::create_flow_table_in> table;
  std::uint32_t id = 0;
  ASSERT_TRUE(
      host.flows()
          .create_table(
              prm::FlowTableType::NIC_RX,
              prm::ConstView<prm::flow_table_context>::at(table.bytes<"flow_table_context">()), id)
          .ok());
  prm::Buffer<prm::set_flow_table_root_in> root;
  root.put<"table_type">(prm::FlowTableType::NIC_RX).put<"table_id">(id);
  ASSERT_TRUE(host.flows().set_root(prm::ConstView<prm::set_flow_table_root_in>(root.all())).ok());
}

TEST_F(Send, PacketToAPortWithRoceOff_IsTheNetworkInterfaces) {
  Peer peer(host);
  options.dest_mac = kPeerMac;
  options.dest_gid = kPeerGid;
  host.connect(kReceiver, 0x777, options);
  receive_at(0, 64);
  receive_at(64, 64);
  give_a_netdev(host);
  PacketHeader header;
  header.opcode = BthOpcode::SendOnly;
  header.psn = options.psn;
  peer.send(Peer::path_to(kReceiver), header, source.bytes.first(64));
  host.run();
  EXPECT_EQ(host.drain_cq().size(), 1U);
  host.port().roce_enabled = false;
  header.psn = options.psn + 1;
  peer.send(Peer::path_to(kReceiver), header, source.bytes.first(64));
  host.run();
  EXPECT_EQ(host.drain_cq().size(), 0U);
}

/// It is a UDP datagram to port 4791 and nothing else, so its last four bytes are no ICRC.
TEST_F(Send, PacketToAPortWithRoceOff_IsAskedForNoIcrc) {
  Peer peer(host);
  give_a_netdev(host);
  host.port().roce_enabled = false;
  PacketHeader header;
  header.opcode = BthOpcode::SendOnly;
  std::vector<std::byte> bytes(kMaxFrameBytes);
  bytes.resize(FrameTemplate(Peer::path_to(kReceiver)).finish(bytes, header, 64));
  corrupt_icrc(bytes);
  peer.send_raw(bytes);
  host.run();
  EXPECT_EQ(host.counters().icrc_errors, 0U);
}

// What ib_drain_rq() of Linux waits for: mlx5_ib_drain_rq in mlx5/qp.c.
TEST_F(Send, ReceivePostedInError_IsFlushedThoughNothingKicks) {
  connect();
  ASSERT_TRUE(host.modify(kReceiver, QpTransition::ToErr).ok());
  receive_at(0, 64);
  EXPECT_TRUE(host.transport().look());
  EXPECT_FALSE(host.transport().look());
  run();
  ASSERT_EQ(completions.size(), 1U);
  EXPECT_EQ(completions[0].opcode, CqeOpcode::RESP_ERR);
  EXPECT_EQ(completions[0].syndrome, CqeSyndrome::WR_FLUSH_ERR);
}

TEST_F(Send, ReceivePostedAfterReset_IsNotFlushed) {
  connect();
  ASSERT_TRUE(host.modify(kReceiver, QpTransition::ToErr).ok());
  ASSERT_TRUE(host.modify(kReceiver, QpTransition::ToRst).ok());
  receive_at(0, 64);
  EXPECT_FALSE(host.transport().look());
}

TEST_F(Send, InlineData_LandsToo) {
  connect();
  receive_at(0, 64);
  std::vector<std::byte> inlined(32);
  const auto segment = prm::View<prm::mlx5_wqe_inl_data_seg>::at(inlined);
  segment.put<"byte_count">(prm::inline_byte_count(12));
  std::ranges::copy(source.bytes.first(12), inlined.begin() + 4);
  host.post_raw(kSender, WqeOpcode::SEND, std::span(inlined).first(16));
  host.ring(kSender);
  run();
  EXPECT_TRUE(arrived(0, 12));
}

}  // namespace
}  // namespace portcullis::model::testing
