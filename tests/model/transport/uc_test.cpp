// SPDX-License-Identifier: BSD-3-Clause
//
// Unreliable connections: what leaves, what a receiver takes, and that nobody ever answers. Opcodes
// are those of IB_OPCODE_UC_* in include/rdma/ib_pack.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CqeOpcode;
using prm::CqeSyndrome;
using prm::QpState;
using prm::WqeOpcode;
using ::testing::ElementsAre;

constexpr std::uint32_t kQpn = 0x40;
constexpr std::uint32_t kPeerQpn = 0x777;
constexpr std::uint32_t kPsn = 0x123;  // QpOptions::psn

class Uc : public ::testing::Test {
 protected:
  Uc() {
    fill_pattern(source.bytes, 3);
    path.transport = 0x20;
    host.connect(kQpn, kPeerQpn, options);
  }

  void post_receive(std::uint32_t bytes = 4096) {
    const std::array<Piece, 1> pieces{Piece{address, bytes, key}};
    host.post_receive(kQpn, pieces);
  }
  void send(BthOpcode opcode, std::uint32_t psn, std::size_t bytes) {
    PacketHeader header;
    header.opcode = opcode;
    header.ack_request = true;
    header.psn = psn;
    header.va = address;
    header.rkey = key;
    header.dma_length = dma_length;
    peer.send(path, header, source.bytes.first(bytes));
    host.run();
  }
  void post(WqeOpcode opcode, std::uint32_t bytes) {
    host.post_rdma(kQpn, opcode,
                   {.raddr = 0x1000,
                    .rkey = 0x22,
                    .lkey = key_source,
                    .address = std::bit_cast<std::uint64_t>(source.bytes.data()),
                    .length = bytes},
                   0x01020304);
    host.ring(kQpn);
    host.run();
  }
  /// Opcodes of what left, and that none asked for an answer.
  [[nodiscard]] std::vector<int> sent() {
    std::vector<int> opcodes;
    for (const Packet& packet : peer.take()) {
      EXPECT_FALSE(packet.ack_request);
      opcodes.push_back(packet.opcode);
    }
    return opcodes;
  }
  void expect_untouched() {
    EXPECT_TRUE(host.drain_cq().empty());
    EXPECT_TRUE(peer.take().empty());
    EXPECT_FALSE(host.poll_eq());
    EXPECT_EQ(host.state(kQpn), QpState::RTS);
    EXPECT_TRUE(std::ranges::all_of(target.bytes, [](std::byte b) { return b == std::byte{0}; }));
  }
  [[nodiscard]] bool has_arrived(std::size_t bytes) const {
    return std::ranges::equal(target.bytes.first(bytes), source.bytes.first(bytes));
  }

  Host host;
  Peer peer{host};
  Path path = Peer::path_to(kQpn);
  QpOptions options{.log_rq_size = 3,
                    .service = prm::QpServiceType::UC,
                    .dest_mac = kPeerMac,
                    .dest_gid = kPeerGid};
  Region source = host.map(std::size_t{256} << 10);
  Region target = host.map(8192);
  std::uint32_t key_source = host.make_key(source, access::kLocalRead);
  std::uint32_t key = host.make_key(target, access::kLocalWrite | access::kRemoteWrite);
  std::uint64_t address = std::bit_cast<std::uint64_t>(target.bytes.data());
  std::uint32_t dma_length = 64;
};

TEST_F(Uc, Send_CompletesAReceiveAndIsNotAnswered) {
  post_receive();
  send(BthOpcode::SendOnly, kPsn, 64);
  const std::vector<Cqe> cqes = host.drain_cq();
  ASSERT_EQ(cqes.size(), 1U);
  EXPECT_EQ(cqes[0].opcode, CqeOpcode::RESP_SEND);
  EXPECT_EQ(cqes[0].byte_cnt, 64U);
  EXPECT_TRUE(has_arrived(64));
  EXPECT_TRUE(peer.take().empty());
}

TEST_F(Uc, Write_IsPlacedAndNotAnswered) {
  send(BthOpcode::WriteOnly, kPsn, 64);
  EXPECT_TRUE(has_arrived(64));
  EXPECT_TRUE(peer.take().empty());
  EXPECT_TRUE(host.drain_cq().empty());
}

TEST_F(Uc, WriteWithImmediate_CompletesAReceive) {
  post_receive();
  send(BthOpcode::WriteOnlyImmediate, kPsn, 64);
  const std::vector<Cqe> cqes = host.drain_cq();
  ASSERT_EQ(cqes.size(), 1U);
  EXPECT_EQ(cqes[0].opcode, CqeOpcode::RESP_WR_IMM);
  EXPECT_TRUE(has_arrived(64));
}

TEST_F(Uc, WriteUnderADeadKey_IsDroppedInSilence) {
  host.destroy_key(key);
  send(BthOpcode::WriteOnly, kPsn, 64);
  expect_untouched();
}

TEST_F(Uc, KeyDiesWithinAMessage_RestIsDroppedInSilence) {
  dma_length = 2 * kMtu;
  send(BthOpcode::WriteFirst, kPsn, kMtu);
  std::ranges::fill(target.bytes, std::byte{0});
  host.destroy_key(key);
  send(BthOpcode::WriteLast, kPsn + 1, kMtu);
  expect_untouched();
}

TEST_F(Uc, WriteWithoutTheRight_IsDroppedInSilence) {
  QpOptions without = options;
  without.rwe = false;
  host.connect(kQpn + 1, kPeerQpn, without);
  path.dest_qpn = kQpn + 1;
  send(BthOpcode::WriteOnly, kPsn, 64);
  expect_untouched();
}

TEST_F(Uc, PacketMissing_DropsTheMessageAndTakesTheNext) {
  post_receive();
  send(BthOpcode::SendFirst, kPsn, kMtu);
  send(BthOpcode::SendLast, kPsn + 2, kMtu);
  EXPECT_TRUE(host.drain_cq().empty());
  send(BthOpcode::SendMiddle, kPsn + 3, kMtu);
  EXPECT_TRUE(host.drain_cq().empty());
  send(BthOpcode::SendOnly, kPsn + 4, 64);
  const std::vector<Cqe> cqes = host.drain_cq();
  ASSERT_EQ(cqes.size(), 1U);
  EXPECT_EQ(cqes[0].byte_cnt, 64U);
  EXPECT_EQ(cqes[0].wqe_counter, 0U);
  EXPECT_TRUE(peer.take().empty());
}

TEST_F(Uc, MessagesMissing_NextIsTakenWhateverItsPsn) {
  post_receive();
  send(BthOpcode::SendOnly, kPsn + 1000, 64);
  EXPECT_EQ(host.drain_cq().size(), 1U);
  EXPECT_TRUE(has_arrived(64));
}

TEST_F(Uc, MessageBeginsWithinAnother_TakesItsReceive) {
  post_receive();
  send(BthOpcode::SendFirst, kPsn, kMtu);
  send(BthOpcode::SendOnly, kPsn + 1, 64);
  const std::vector<Cqe> cqes = host.drain_cq();
  ASSERT_EQ(cqes.size(), 1U);
  EXPECT_EQ(cqes[0].byte_cnt, 64U);
}

TEST_F(Uc, MiddleWithoutFirst_IsDropped) {
  post_receive();
  send(BthOpcode::SendMiddle, kPsn, kMtu);
  expect_untouched();
}

TEST_F(Uc, NoReceivePosted_DropsTheMessageAndTakesTheNext) {
  send(BthOpcode::SendFirst, kPsn, kMtu);
  post_receive();
  send(BthOpcode::SendLast, kPsn + 1, kMtu);
  expect_untouched();
  EXPECT_EQ(host.q_counters().out_of_buffer, 1U);
  send(BthOpcode::SendOnly, kPsn + 2, 64);
  EXPECT_EQ(host.drain_cq().size(), 1U);
}

TEST_F(Uc, ReceiveTooShort_CompletesWithLengthErrorAndIsNotAnswered) {
  post_receive(32);
  send(BthOpcode::SendOnly, kPsn, 64);
  const std::vector<Cqe> cqes = host.drain_cq();
  ASSERT_EQ(cqes.size(), 1U);
  EXPECT_EQ(cqes[0].syndrome, CqeSyndrome::LOCAL_LENGTH_ERR);
  EXPECT_EQ(host.state(kQpn), QpState::ERR);
  EXPECT_TRUE(peer.take().empty());
}

TEST_F(Uc, PacketOfAnotherService_IsDropped) {
  path.transport = 0x00;
  send(BthOpcode::WriteOnly, kPsn, 64);
  expect_untouched();
}

TEST_F(Uc, ReliablePair_DropsUnreliablePackets) {
  QpOptions reliable = options;
  reliable.service = prm::QpServiceType::RC;
  host.connect(kQpn + 1, kPeerQpn, reliable);
  path.dest_qpn = kQpn + 1;
  send(BthOpcode::WriteOnly, kPsn, 64);
  expect_untouched();
}

TEST_F(Uc, WriteOfThreePackets_CompletesWhenItHasLeft) {
  post(WqeOpcode::RDMA_WRITE, 3 * kMtu);
  EXPECT_THAT(sent(), ElementsAre(0x26, 0x27, 0x28));
  const std::vector<Cqe> cqes = host.drain_cq();
  ASSERT_EQ(cqes.size(), 1U);
  EXPECT_EQ(cqes[0].opcode, CqeOpcode::REQ);
}

TEST_F(Uc, WriteWithImmediate_HasItInItsLastPacket) {
  post(WqeOpcode::RDMA_WRITE_IMM, 2 * kMtu);
  EXPECT_THAT(sent(), ElementsAre(0x26, 0x29));
}

TEST_F(Uc, MessageLongerThanAnyWindow_LeavesWhole) {
  post(WqeOpcode::RDMA_WRITE, 200 * kMtu);
  EXPECT_EQ(sent().size(), 200U);
  EXPECT_EQ(host.drain_cq().size(), 1U);
}

TEST_F(Uc, NobodyListens_TimePassesAndNothingIsSentAgain) {
  post(WqeOpcode::RDMA_WRITE, 64);
  EXPECT_EQ(sent().size(), 1U);
  host.run_until(host.now_ns() + 10'000'000'000);
  EXPECT_TRUE(sent().empty());
  EXPECT_EQ(host.state(kQpn), QpState::RTS);
}

TEST_F(Uc, Read_FailsAndTakesTheSendHalfAlone) {
  post(WqeOpcode::RDMA_READ, 64);
  const std::vector<Cqe> cqes = host.drain_cq();
  ASSERT_EQ(cqes.size(), 1U);
  EXPECT_EQ(cqes[0].syndrome, CqeSyndrome::LOCAL_QP_OP_ERR);
  EXPECT_EQ(host.state(kQpn), QpState::SQER);
  send(BthOpcode::WriteOnly, kPsn, 64);
  EXPECT_TRUE(has_arrived(64));
}

TEST_F(Uc, PostedInSendError_IsFlushedUntilTheDriverEndsIt) {
  post(WqeOpcode::RDMA_READ, 64);
  post(WqeOpcode::RDMA_WRITE, 64);
  const std::vector<Cqe> cqes = host.drain_cq();
  ASSERT_EQ(cqes.size(), 2U);
  EXPECT_EQ(cqes[1].syndrome, CqeSyndrome::WR_FLUSH_ERR);
  EXPECT_TRUE(sent().empty());
  ASSERT_TRUE(host.modify(kQpn, QpTransition::Sqerr2Rts).ok());
  post(WqeOpcode::RDMA_WRITE, 64);
  EXPECT_THAT(sent(), ElementsAre(0x2a));
}

TEST_F(Uc, Drain_EndsAtOnce) {
  post(WqeOpcode::RDMA_WRITE, 64);
  ASSERT_TRUE(host.modify(kQpn, QpTransition::Rts2Sqd).ok());
  EXPECT_EQ(host.state(kQpn), QpState::SQD);
}

}  // namespace
}  // namespace portcullis::model::testing
