// SPDX-License-Identifier: BSD-3-Clause
//
// Extended reliable connections: a message names the shared queue that it is for, whose receives,
// protection domain and CQ it then has. Bytes of the XRCETH are read where they stand on the wire.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>

#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CqeOpcode;
using prm::EventType;
using prm::QpState;
using prm::WqeOpcode;
using ::testing::ElementsAre;

constexpr std::uint32_t kTarget = 0x40;
constexpr std::uint32_t kInitiator = 0x41;
constexpr std::uint32_t kPeerQpn = 0x777;
constexpr std::uint32_t kPsn = 0x123;  // QpOptions::psn
constexpr std::uint32_t kQueuePd = 9;  // not that of the queue pairs
constexpr std::uint32_t kUserIndex = 0x99;

class Xrc : public ::testing::Test {
 protected:
  Xrc() {
    fill_pattern(source.bytes, 3);
    path.transport = 0xa0;
    host.connect(kTarget, kPeerQpn, target_options);
    host.connect(kInitiator, kPeerQpn, initiator_options);
  }

  void send(BthOpcode opcode, std::uint32_t srqn, std::uint32_t rkey = 0) {
    PacketHeader header;
    header.opcode = opcode;
    header.ack_request = true;
    header.psn = kPsn;
    header.va = address;
    header.rkey = rkey;
    header.dma_length = 64;
    header.xrc_srqn = srqn;
    const bool has_data = opcode != BthOpcode::ReadRequest;
    peer.send(path, header, source.bytes.first(has_data ? 64 : 0));
    host.run();
  }
  void post_receive() { host.post_shared({address, 256, key}); }
  /// A SEND, or a WRITE to somewhere, of 64 bytes for queue `srqn`.
  void post(WqeOpcode opcode, std::uint8_t srqn) {
    std::vector<std::byte> segments(16);
    segments[3] = std::byte{srqn};
    if (opcode == WqeOpcode::RDMA_WRITE) {
      segments.resize(32);
      segments[23] = std::byte{0xaa};  // the address
      segments[27] = std::byte{0xbb};  // the key
    }
    const std::array<Piece, 1> pieces{
        Piece{std::bit_cast<std::uint64_t>(source.bytes.data()), 64, key_source}};
    const std::vector<std::byte> data = segments_of(pieces);
    segments.insert(segments.end(), data.begin(), data.end());
    host.post_raw(kInitiator, opcode, segments);
    host.ring(kInitiator);
    host.run();
  }
  void expect_answer(int opcode, int code) {
    const std::vector<Packet> answers = peer.take();
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_EQ(answers[0].opcode, opcode);
    EXPECT_EQ(answers[0].syndrome, code);
  }
  [[nodiscard]] bool has_arrived() const {
    return std::ranges::equal(target.bytes.first(64), source.bytes.first(64));
  }
  /// `count` bytes of the only frame that left, from the BTH on.
  [[nodiscard]] std::vector<int> sent(std::size_t count) {
    std::vector<int> bytes;
    const auto frames = peer.take_frames();
    for (const std::byte byte : std::span(frames.at(0)).subspan(14 + 20 + 8, count))
      bytes.push_back(std::to_integer<int>(byte));
    return bytes;
  }

  Host host;
  Peer peer{host};
  Path path = Peer::path_to(kTarget);
  std::uint32_t domain = host.make_xrc_domain();
  std::uint32_t queue = host.make_xrc_receives(domain, kQueuePd, kUserIndex);
  QpOptions target_options{.service = prm::QpServiceType::XRC,
                           .dest_mac = kPeerMac,
                           .dest_gid = kPeerGid,
                           .xrcd = domain,
                           .no_sq = true};
  QpOptions initiator_options{.service = prm::QpServiceType::XRC,
                              .dest_mac = kPeerMac,
                              .dest_gid = kPeerGid,
                              .xrcd = domain};
  Region source = host.map(4096);
  Region target = host.map(8192);
  std::uint32_t key_source = host.make_key(source, access::kLocalRead);
  std::uint32_t key = host.make_key(
      target, access::kLocalWrite | access::kRemoteWrite | access::kRemoteRead, kQueuePd);
  std::uint32_t key_of_pair =
      host.make_key(target, access::kLocalWrite | access::kRemoteWrite | access::kRemoteRead, kPd);
  std::uint64_t address = std::bit_cast<std::uint64_t>(target.bytes.data());
};

TEST_F(Xrc, Send_TakesAReceiveOfTheQueueThatItNames) {
  post_receive();
  send(BthOpcode::SendOnly, queue);
  const std::vector<Cqe> cqes = host.drain_cq();
  ASSERT_EQ(cqes.size(), 1U);
  EXPECT_EQ(cqes[0].opcode, CqeOpcode::RESP_SEND);
  EXPECT_EQ(cqes[0].qpn, kTarget);
  EXPECT_EQ(cqes[0].user_index, kUserIndex);
  EXPECT_EQ(cqes[0].byte_cnt, 64U);
  EXPECT_TRUE(has_arrived());
  expect_answer(0xb1, 0x1f);
}

TEST_F(Xrc, NoReceivePosted_IsNotReady) {
  send(BthOpcode::SendOnly, queue);
  expect_answer(0xb1, 0x21);
  EXPECT_EQ(host.state(kTarget), QpState::RTS);
}

TEST_F(Xrc, QueueThatIsNotThere_IsRefusedAsAKeyIs) {
  send(BthOpcode::SendOnly, queue + 1);
  expect_answer(0xb1, 0x62);
  EXPECT_EQ(host.state(kTarget), QpState::ERR);
  EXPECT_EQ(host.poll_eq().value().type, EventType::SRQ_LAST_WQE);
  EXPECT_EQ(host.poll_eq().value().type, EventType::WQ_ACCESS_ERROR);
}

TEST_F(Xrc, QueueOfAnotherDomain_IsRefusedAsAKeyIs) {
  const std::uint32_t other = host.make_xrc_receives(host.make_xrc_domain(), kQueuePd, 1);
  post_receive();
  send(BthOpcode::SendOnly, other);
  expect_answer(0xb1, 0x62);
  EXPECT_TRUE(host.drain_cq().empty());
}

TEST_F(Xrc, PoolThatIsNoXrcQueue_IsRefusedAsAKeyIs) {
  const std::uint32_t pool = host.make_shared_receives();
  post_receive();
  send(BthOpcode::SendOnly, pool);
  expect_answer(0xb1, 0x62);
}

TEST_F(Xrc, Write_NeedsAKeyOfTheQueuesDomain) {
  send(BthOpcode::WriteOnly, queue, key);
  EXPECT_TRUE(has_arrived());
  expect_answer(0xb1, 0x1f);
}

TEST_F(Xrc, WriteUnderAKeyOfThePairsOwnDomain_IsRefused) {
  send(BthOpcode::WriteOnly, queue, key_of_pair);
  EXPECT_FALSE(has_arrived());
  expect_answer(0xb1, 0x62);
}

TEST_F(Xrc, Read_NeedsAKeyOfTheQueuesDomain) {
  send(BthOpcode::ReadRequest, queue, key);
  expect_answer(0xb0, 0x1f);
}

TEST_F(Xrc, ReadUnderAKeyOfThePairsOwnDomain_IsRefused) {
  send(BthOpcode::ReadRequest, queue, key_of_pair);
  expect_answer(0xb1, 0x62);
}

TEST_F(Xrc, RequestToAnInitiator_IsDropped) {
  post_receive();
  path.dest_qpn = kInitiator;
  send(BthOpcode::SendOnly, queue);
  EXPECT_TRUE(peer.take().empty());
  EXPECT_TRUE(host.drain_cq().empty());
  EXPECT_EQ(host.state(kInitiator), QpState::RTS);
}

TEST_F(Xrc, SendWqe_NamesTheQueueBehindTheBth) {
  post(WqeOpcode::SEND, 0x5c);
  const std::vector<int> bytes = sent(16);
  EXPECT_EQ(bytes[0], 0xa4);
  EXPECT_THAT(std::vector(bytes.begin() + 12, bytes.end()), ElementsAre(0, 0, 0, 0x5c));
}

TEST_F(Xrc, WriteWqe_HasTheQueueBeforeTheReth) {
  post(WqeOpcode::RDMA_WRITE, 0x5c);
  const std::vector<int> bytes = sent(32);
  EXPECT_EQ(bytes[0], 0xaa);
  EXPECT_THAT(std::vector(bytes.begin() + 12, bytes.end()),
              ElementsAre(0, 0, 0, 0x5c, 0, 0, 0, 0, 0, 0, 0, 0xaa, 0, 0, 0, 0xbb, 0, 0, 0, 64));
}

TEST_F(Xrc, Acknowledged_CompletesTheWqe) {
  post(WqeOpcode::SEND, 0x5c);
  EXPECT_TRUE(host.drain_cq().empty());
  path.dest_qpn = kInitiator;
  peer.send(path, {.psn = kPsn, .syndrome = syndrome::kAckUnlimited});
  host.run();
  EXPECT_EQ(host.drain_cq().at(0).opcode, CqeOpcode::REQ);
}

TEST_F(Xrc, TargetInError_SaysThatItTakesNoMore) {
  ASSERT_TRUE(host.modify(kTarget, QpTransition::ToErr).ok());
  const auto event = host.poll_eq();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->type, EventType::SRQ_LAST_WQE);
  EXPECT_EQ(event->qpn, kTarget);
}

TEST_F(Xrc, InitiatorInError_HasNothingToSay) {
  ASSERT_TRUE(host.modify(kInitiator, QpTransition::ToErr).ok());
  EXPECT_FALSE(host.poll_eq());
}

}  // namespace
}  // namespace portcullis::model::testing
