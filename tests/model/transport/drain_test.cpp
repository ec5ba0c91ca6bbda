// SPDX-License-Identifier: BSD-3-Clause
//
// Draining a send queue: RTS to SQD and back, what goes on meanwhile, and the events that tell of
// it and of a connection that a peer began.
#include <gtest/gtest.h>

#include <bit>

#include "base/clock.hpp"
#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

using prm::EventType;
using prm::QpState;

constexpr std::uint32_t kQpn = 0x40;
constexpr std::uint32_t kPsn = 0x123;
constexpr std::uint64_t kTimeoutNs = std::uint64_t{4096} << 14;

/// One queue pair whose peer answers when the test says so.
class Drain : public ::testing::Test {
 protected:
  Drain() { host.connect(kQpn, kQpn, {.dest_mac = kPeerMac, .dest_gid = kPeerGid}); }

  void write(std::uint32_t length) {
    host.post_and_ring(kQpn, {0x1000, 1, lkey, at, length, true});
    host.run();
  }
  void drain() {
    ASSERT_TRUE(host.modify(kQpn, QpTransition::Rts2Sqd).ok());
    host.run();
  }
  void acknowledge(std::uint32_t psn, std::uint8_t code = syndrome::kAckUnlimited) {
    peer.acknowledge(kQpn, psn, code);
    host.run();
  }
  [[nodiscard]] std::size_t frames() { return peer.take_frames().size(); }
  void expect_drained() {
    EXPECT_EQ(host.state(kQpn), QpState::SQD);
    const auto event = host.poll_eq();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->type, EventType::SQ_DRAINED);
    EXPECT_EQ(event->qpn, kQpn);
  }

  Host host;
  Peer peer{host};
  Region region = host.map(262'144);
  std::uint64_t at = std::bit_cast<std::uint64_t>(region.bytes.data());
  std::uint32_t lkey = host.make_key(region, access::kLocalRead | access::kRemoteWrite);
};

TEST_F(Drain, NothingOutstanding_IsDrainedAtOnce) {
  drain();
  expect_drained();
}

TEST_F(Drain, MessageOutstanding_DrainsUntilItIsAcknowledged) {
  write(64);
  drain();
  EXPECT_EQ(host.state(kQpn), QpState::SQ_DRAINING);
  EXPECT_FALSE(host.poll_eq());
  acknowledge(kPsn);
  expect_drained();
  EXPECT_EQ(host.drain_cq().size(), 1U);
}

TEST_F(Drain, MessageHalfSent_IsSentToItsEnd) {
  write(200 * kMtu);  // more packets than may be unacknowledged
  drain();
  EXPECT_EQ(frames(), 128U);
  acknowledge(kPsn + 127);
  EXPECT_EQ(frames(), 72U);
  EXPECT_EQ(host.state(kQpn), QpState::SQ_DRAINING);
  acknowledge(kPsn + 199);
  expect_drained();
}

TEST_F(Drain, PostedWhileDraining_IsNotBegunBeforeRts) {
  write(64);
  drain();
  write(64);
  EXPECT_EQ(frames(), 1U);
  acknowledge(kPsn);
  write(64);
  EXPECT_EQ(frames(), 0U);
  ASSERT_TRUE(host.modify(kQpn, QpTransition::Sqd2Rts).ok());
  host.run();
  EXPECT_EQ(frames(), 2U);
  acknowledge(kPsn + 2);
  EXPECT_EQ(host.drain_cq().size(), 3U);
}

TEST_F(Drain, SecondMessageKnownButNotBegun_WaitsForRts) {
  host.post(kQpn, {0x1000, 1, lkey, at, 200 * kMtu, false});
  host.post(kQpn, {0x1000, 1, lkey, at, 64, true});
  host.ring(kQpn);
  host.run();
  drain();
  acknowledge(kPsn + 127);
  acknowledge(kPsn + 199);
  EXPECT_EQ(frames(), 200U);
  expect_drained();
  ASSERT_TRUE(host.modify(kQpn, QpTransition::Sqd2Rts).ok());
  host.run();
  EXPECT_EQ(frames(), 1U);
}

TEST_F(Drain, AcknowledgementLost_IsAskedForAgain) {
  write(64);
  drain();
  host.run_until(host.now_ns() + kTimeoutNs);
  EXPECT_EQ(frames(), 2U);
  acknowledge(kPsn);
  expect_drained();
}

TEST_F(Drain, NobodyAnswers_EndsInErrorAndIsNotDrained) {
  write(64);
  drain();
  host.run_until(host.now_ns() + 9 * kTimeoutNs);
  EXPECT_EQ(host.state(kQpn), QpState::ERR);
  EXPECT_EQ(host.drain_cq().at(0).syndrome, prm::CqeSyndrome::TRANSPORT_RETRY_EXC_ERR);
  EXPECT_FALSE(host.poll_eq());
}

TEST_F(Drain, RefusedWhileDraining_EndsInErrorAndFlushesTheRest) {
  write(64);
  drain();
  write(64);
  acknowledge(kPsn, syndrome::kNakRemoteAccessError);
  const auto cqes = host.drain_cq();
  ASSERT_EQ(cqes.size(), 2U);
  EXPECT_EQ(cqes[0].syndrome, prm::CqeSyndrome::REMOTE_ACCESS_ERR);
  EXPECT_EQ(cqes[1].syndrome, prm::CqeSyndrome::WR_FLUSH_ERR);
}

TEST_F(Drain, DrainedQp_StillAnswersRequests) {
  drain();
  PacketHeader header;
  header.opcode = BthOpcode::WriteOnly;
  header.psn = kPsn;
  header.ack_request = true;
  header.va = at;
  header.rkey = lkey;
  header.dma_length = 8;
  const std::array<std::byte, 8> payload{std::byte{0x77}};
  peer.send(Peer::path_to(kQpn), header, payload);
  host.run();
  EXPECT_EQ(region.bytes[0], std::byte{0x77});
  EXPECT_EQ(peer.take().at(0).opcode, static_cast<std::uint8_t>(BthOpcode::Acknowledge));
}

TEST_F(Drain, OutOfDrainingBeforeItsEnd_IsRefused) {
  write(64);
  drain();
  EXPECT_EQ(host.modify(kQpn, QpTransition::Sqd2Rts).status, prm::CommandStatus::BAD_QP_STATE_ERR);
  EXPECT_EQ(host.state(kQpn), QpState::SQ_DRAINING);
}

// ---- COMM_EST ----

class Established : public ::testing::Test {
 protected:
  Established() {
    EXPECT_TRUE(host.create(kQpn, to_peer).ok());
    EXPECT_TRUE(host.modify(kQpn, QpTransition::Rst2Init, kQpn, to_peer).ok());
    EXPECT_TRUE(host.modify(kQpn, QpTransition::Init2Rtr, kQpn, to_peer).ok());
  }
  void request(std::uint32_t psn) {
    PacketHeader header;
    header.opcode = BthOpcode::WriteOnly;
    header.psn = psn;
    peer.send(Peer::path_to(kQpn), header);
    host.run();
  }

  QpOptions to_peer{.dest_mac = kPeerMac, .dest_gid = kPeerGid};
  Host host;
  Peer peer{host};
};

TEST_F(Established, FirstRequestInRtr_RaisesCommEstOnce) {
  request(kPsn);
  request(kPsn + 1);
  const auto event = host.poll_eq();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->type, EventType::COMM_EST);
  EXPECT_EQ(event->qpn, kQpn);
  EXPECT_FALSE(host.poll_eq());
}

TEST_F(Established, FirstRequestInRts_RaisesNothing) {
  ASSERT_TRUE(host.modify(kQpn, QpTransition::Rtr2Rts, kQpn, to_peer).ok());
  request(kPsn);
  EXPECT_FALSE(host.poll_eq());
}

}  // namespace
}  // namespace portcullis::model::testing
