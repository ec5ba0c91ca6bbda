// SPDX-License-Identifier: BSD-3-Clause
//
// What an access to memory does between the check that allowed it and its end: with a Pace that
// holds steps until the test lets them go.
#include "model/transport/pace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "tests/model/transport/holder.hpp"
#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

constexpr std::uint32_t kQpn = 0x40;
constexpr std::uint32_t kPeerQpn = 0x777;
constexpr std::uint32_t kPsn = 0x123;

class PaceTest : public ::testing::Test {
 protected:
  PaceTest() {
    options.dest_mac = kPeerMac;
    options.dest_gid = kPeerGid;
    options.log_rq_size = 3;
    host.connect(kQpn, kPeerQpn, options);
  }

  PacketHeader write_only(std::uint32_t psn = kPsn, std::uint32_t bytes = 64) const {
    PacketHeader header;
    header.opcode = BthOpcode::WriteOnly;
    header.ack_request = true;
    header.psn = psn;
    header.va = address;
    header.rkey = rkey;
    header.dma_length = bytes;
    return header;
  }
  void send(const PacketHeader& header, std::uint8_t fill, std::size_t bytes = 64) {
    const std::vector<std::byte> payload(bytes, std::byte{fill});
    peer.send(path, header, payload);
    host.run();
  }
  void release(std::size_t ticket) {
    ASSERT_TRUE(host.transport().release(pace->tickets.at(ticket)));
    host.run();
  }
  [[nodiscard]] int byte(std::size_t at = 0) const {
    return std::to_integer<int>(region.bytes[at]);
  }
  [[nodiscard]] std::vector<std::uint32_t> answered_psns() {
    std::vector<std::uint32_t> psns;
    for (const Packet& packet : peer.take()) psns.push_back(packet.psn);
    return psns;
  }

  std::shared_ptr<Holder> pace = std::make_shared<Holder>();
  Host host{nullptr, "", PortType::Ethernet, pace};
  Peer peer{host};
  QpOptions options;
  Path path = Peer::path_to(kQpn);
  Region region = host.map(16384);
  std::uint64_t address = std::bit_cast<std::uint64_t>(region.bytes.data());
  std::uint32_t rkey = host.make_key(region, access::kRemoteWrite);
  std::uint32_t lkey = host.make_key(region, access::kLocalWrite);
};

TEST_F(PaceTest, NothingHeld_EveryPointOfAWriteIsAskedFor) {
  send(write_only(), 7);
  EXPECT_EQ(byte(), 7);
  EXPECT_EQ(answered_psns(), std::vector{kPsn});
  ASSERT_EQ(pace->asked.size(), 4U);
  EXPECT_EQ(pace->asked[0].at, PacePoint::BeforeCheck);
  EXPECT_EQ(pace->asked[1].at, PacePoint::WritePending);
  EXPECT_EQ(pace->asked[1].key, rkey);
  EXPECT_EQ(pace->asked[1].bytes, 64U);
  EXPECT_EQ(pace->asked[2].at, PacePoint::ResponsePending);
  EXPECT_EQ(pace->asked[3].at, PacePoint::FrameOnWire);
}

TEST_F(PaceTest, WritePending_MemoryIsUntouchedAndNothingAnsweredUntilReleased) {
  pace->holds[PacePoint::WritePending] = 0;
  send(write_only(), 7);
  EXPECT_EQ(byte(), 0);
  EXPECT_TRUE(answered_psns().empty());
  EXPECT_TRUE(host.has_pending_dma(rkey));
  release(0);
  EXPECT_EQ(byte(), 7);
  EXPECT_EQ(answered_psns(), std::vector{kPsn});
  EXPECT_FALSE(host.has_pending_dma(rkey));
}

TEST_F(PaceTest, FixedDelay_MemoryChangesThenAndNotBefore) {
  pace->holds[PacePoint::WritePending] = 500;
  send(write_only(), 7);
  host.run_until(499);
  EXPECT_EQ(byte(), 0);
  host.run_until(500);
  EXPECT_EQ(byte(), 7);
}

TEST_F(PaceTest, LaterWriteReleasedFirst_PsnOrderHolds) {
  pace->holds[PacePoint::WritePending] = 0;
  send(write_only(kPsn), 1);
  send(write_only(kPsn + 1), 2);
  release(1);
  EXPECT_EQ(byte(), 0);
  release(0);
  EXPECT_EQ(byte(), 2);
  EXPECT_EQ(answered_psns(), (std::vector{kPsn, kPsn + 1}));
}

TEST_F(PaceTest, ResponsesReleasedBackwards_LeaveInPsnOrder) {
  pace->holds[PacePoint::ResponsePending] = 0;
  send(write_only(kPsn), 1);
  send(write_only(kPsn + 1), 2);
  EXPECT_EQ(byte(), 2);
  release(1);
  EXPECT_TRUE(answered_psns().empty());
  release(0);
  EXPECT_EQ(answered_psns(), (std::vector{kPsn, kPsn + 1}));
}

TEST_F(PaceTest, HeldBeforeTheCheck_KeyDestroyedMeanwhileRefuses) {
  pace->holds[PacePoint::BeforeCheck] = 0;
  send(write_only(), 7);
  host.destroy_key(rkey);
  release(0);
  EXPECT_EQ(byte(), 0);
  const auto answers = peer.take();
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].syndrome, syndrome::kNakRemoteAccessError);
}

TEST_F(PaceTest, HeldBeforeTheCheckBackwards_AreCheckedInOrder) {
  pace->holds[PacePoint::BeforeCheck] = 0;
  send(write_only(kPsn), 1);
  send(write_only(kPsn + 1), 2);
  release(1);
  EXPECT_EQ(byte(), 0);
  release(0);
  EXPECT_EQ(byte(), 2);
  EXPECT_EQ(answered_psns(), (std::vector{kPsn, kPsn + 1}));
}

TEST_F(PaceTest, KeyDestroyedAfterTheCheck_MemoryChangesAllTheSame) {
  pace->holds[PacePoint::WritePending] = 0;
  send(write_only(), 7);
  host.destroy_key(rkey);
  release(0);
  EXPECT_EQ(byte(), 7);
}

TEST_F(PaceTest, RefusedBehindAPendingWrite_WriteIsAnsweredFirst) {
  pace->holds[PacePoint::WritePending] = 0;
  send(write_only(kPsn), 7);
  PacketHeader bad = write_only(kPsn + 1);
  bad.rkey = 0xdead00;
  send(bad, 8);
  EXPECT_EQ(host.state(kQpn), prm::QpState::RTS);
  release(0);
  EXPECT_EQ(host.state(kQpn), prm::QpState::ERR);
  const auto answers = peer.take();
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0].syndrome, syndrome::kAckUnlimited);
  EXPECT_EQ(answers[1].syndrome, syndrome::kNakRemoteAccessError);
  EXPECT_EQ(answers[1].psn, kPsn + 1);
}

TEST_F(PaceTest, DuplicateBehindAPendingWrite_AcknowledgesNothingThatIsNotDone) {
  pace->holds[PacePoint::WritePending] = 0;
  send(write_only(kPsn), 7);
  send(write_only(kPsn), 7);
  EXPECT_TRUE(answered_psns().empty());
  release(0);
  EXPECT_EQ(answered_psns(), (std::vector{kPsn, kPsn}));
}

TEST_F(PaceTest, QpToErrorWhilePending_MemoryChangesInSilence) {
  pace->holds[PacePoint::WritePending] = 0;
  send(write_only(), 7);
  ASSERT_TRUE(host.modify(kQpn, QpTransition::ToErr).ok());
  release(0);
  EXPECT_EQ(byte(), 7);
  EXPECT_TRUE(answered_psns().empty());
}

TEST_F(PaceTest, QpDestroyedAndMadeAgainWhilePending_NewOneKnowsNothingOfIt) {
  pace->holds[PacePoint::WritePending] = 0;
  send(write_only(), 7);
  ASSERT_TRUE(host.transport().destroy_qp(kQpn).ok());
  host.connect(kQpn, kPeerQpn, options);
  release(0);
  EXPECT_EQ(byte(), 7);
  EXPECT_TRUE(answered_psns().empty());
  EXPECT_EQ(host.query(kQpn).get<"next_rcv_psn">(), kPsn);
}

TEST_F(PaceTest, ReceiveFlushedWhilePending_CompletesOnceWithTheFlushError) {
  pace->holds[PacePoint::WritePending] = 0;
  host.post_receive(kQpn, {{Piece{address, 64, lkey}}});
  host.post_receive(kQpn, {{Piece{address, 64, lkey}}});
  PacketHeader header;
  header.opcode = BthOpcode::SendOnly;
  header.psn = kPsn;
  send(header, 7);
  EXPECT_TRUE(host.has_pending_dma(lkey));
  ASSERT_TRUE(host.modify(kQpn, QpTransition::ToErr).ok());
  release(0);
  const std::vector<Cqe> cqes = host.drain_cq();
  ASSERT_EQ(cqes.size(), 2U);
  EXPECT_EQ(cqes[0].wqe_counter, 0U);
  EXPECT_EQ(cqes[0].syndrome, prm::CqeSyndrome::WR_FLUSH_ERR);
  EXPECT_EQ(cqes[1].wqe_counter, 1U);
  EXPECT_EQ(cqes[1].syndrome, prm::CqeSyndrome::WR_FLUSH_ERR);
}

TEST_F(PaceTest, FrameHeldOnTheWire_ArrivesWhenReleased) {
  pace->holds[PacePoint::FrameOnWire] = 0;
  send(write_only(), 7);
  EXPECT_TRUE(answered_psns().empty());
  release(0);
  EXPECT_EQ(answered_psns(), std::vector{kPsn});
}

TEST_F(PaceTest, ResetWhilePending_MemoryNeverChanges) {
  pace->holds[PacePoint::WritePending] = 0;
  send(write_only(), 7);
  host.transport().reset();
  EXPECT_FALSE(host.transport().release(pace->tickets.at(0)));
  host.run();
  EXPECT_EQ(byte(), 0);
}

}  // namespace
}  // namespace portcullis::model::testing
