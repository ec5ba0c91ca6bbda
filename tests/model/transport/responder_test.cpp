// SPDX-License-Identifier: BSD-3-Clause
//
// What a responder answers, rule by rule: a bare port sends frames, the host answers or stays
// silent. Rules as in model/transport/responder.hpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

constexpr std::uint32_t kQpn = 0x40;
constexpr std::uint32_t kPeerQpn = 0x777;
constexpr std::uint32_t kPsn = 0x123;  // QpOptions::psn

class ResponderTest : public ::testing::Test {
 protected:
  ResponderTest() {
    options.dest_mac = kPeerMac;
    options.dest_gid = kPeerGid;
    host.connect(kQpn, kPeerQpn, options);
  }

  /// Another queue pair, of the address on a VLAN, which the path leads to then.
  void connect_on_vlan() {
    options.src_addr_index = kOnVlan;
    path.dest_qpn = kQpn + 1;
    host.connect(path.dest_qpn, kPeerQpn, options);
  }
  PacketHeader write(BthOpcode opcode, std::uint32_t psn, std::uint32_t dma_length) const {
    PacketHeader header;
    header.opcode = opcode;
    header.ack_request = true;
    header.psn = psn;
    header.va = address;
    header.rkey = rkey;
    header.dma_length = dma_length;
    return header;
  }
  PacketHeader write_only(std::uint32_t psn = kPsn, std::uint32_t bytes = 64) const {
    return write(BthOpcode::WriteOnly, psn, bytes);
  }
  /// Sends `header` with the first `bytes` of the pattern, lets everything happen.
  void send(const PacketHeader& header, std::size_t bytes = 64) {
    peer.send(path, header, std::span(pattern).first(bytes));
    host.run();
  }
  void expect_answer(std::uint8_t code, std::uint32_t psn) {
    const std::vector<Packet> answers = peer.take();
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_EQ(answers[0].opcode, 0x11);
    EXPECT_EQ(answers[0].dest_qpn, kPeerQpn);
    EXPECT_EQ(answers[0].syndrome, code);
    EXPECT_EQ(answers[0].psn, psn);
  }
  void expect_silence() { EXPECT_TRUE(peer.take().empty()); }
  void expect_error_event(prm::EventType type) {
    EXPECT_EQ(host.state(kQpn), prm::QpState::ERR);
    const auto event = host.poll_eq();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->type, type);
    EXPECT_EQ(event->qpn, kQpn);
    EXPECT_FALSE(host.poll_eq());
  }
  [[nodiscard]] bool written(std::size_t bytes) const {
    return std::ranges::equal(region.bytes.first(bytes), std::span(pattern).first(bytes));
  }
  [[nodiscard]] bool untouched() const {
    return std::ranges::all_of(region.bytes, [](std::byte b) { return b == std::byte{0}; });
  }
  static std::vector<std::byte> make_pattern() {
    std::vector<std::byte> bytes(8192);
    fill_pattern(bytes, 11);
    return bytes;
  }

  Host host;
  Peer peer{host};
  QpOptions options;
  Path path = Peer::path_to(kQpn);
  const std::vector<std::byte> pattern = make_pattern();
  Region region = host.map(16384);
  std::uint64_t address = std::bit_cast<std::uint64_t>(region.bytes.data());
  std::uint32_t rkey = host.make_key(region, access::kRemoteWrite);
};

// ---- what is carried out ----

TEST_F(ResponderTest, WriteOnly_IsWrittenAndAcknowledged) {
  send(write_only());
  EXPECT_TRUE(written(64));
  expect_answer(syndrome::kAckUnlimited, kPsn);
}

TEST_F(ResponderTest, WriteOnTheVlanOfItsAddress_IsWrittenAndAnsweredThere) {
  connect_on_vlan();
  path.tag = 3 << 13 | kVlanId;
  send(write_only());
  EXPECT_TRUE(written(64));
  const std::vector<Packet> answers = peer.take();
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].vlan_id(), kVlanId);
}

TEST_F(ResponderTest, WriteFromOutsideTheVlan_ChangesNothingAndIsNotAnswered) {
  connect_on_vlan();
  send(write_only());
  path.tag = kVlanId + 1;
  send(write_only());
  EXPECT_TRUE(untouched());
  expect_silence();
}

TEST_F(ResponderTest, WriteOnAVlanToAnAddressOnNone_ChangesNothingAndIsNotAnswered) {
  path.tag = kVlanId;
  send(write_only());
  EXPECT_TRUE(untouched());
  expect_silence();
}

TEST_F(ResponderTest, WriteWithoutAckRequest_IsWrittenInSilence) {
  PacketHeader header = write_only();
  header.ack_request = false;
  send(header);
  EXPECT_TRUE(written(64));
  expect_silence();
}

TEST_F(ResponderTest, WriteOfNoBytes_IsAcknowledgedWithoutLookingAtTheKey) {
  PacketHeader header = write_only(kPsn, 0);
  header.rkey = 0xdead;
  send(header, 0);
  expect_answer(syndrome::kAckUnlimited, kPsn);
}

TEST_F(ResponderTest, FirstMiddleLast_AreWrittenOneBehindTheOther) {
  PacketHeader first = write(BthOpcode::WriteFirst, kPsn, 2 * kMtu + 5);
  first.ack_request = false;
  PacketHeader middle = write(BthOpcode::WriteMiddle, kPsn + 1, 0);
  middle.ack_request = false;
  peer.send(path, first, std::span(pattern).subspan(0, kMtu));
  peer.send(path, middle, std::span(pattern).subspan(kMtu, kMtu));
  peer.send(path, write(BthOpcode::WriteLast, kPsn + 2, 0),
            std::span(pattern).subspan(2 * kMtu, 5));
  host.run();
  EXPECT_TRUE(written(2 * kMtu + 5));
  expect_answer(syndrome::kAckUnlimited, kPsn + 2);
}

TEST_F(ResponderTest, MessageComplete_CountsOneInTheMsn) {
  send(write_only());
  send(write_only(kPsn + 1));
  const auto answers = peer.take();
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0].msn, 1U);
  EXPECT_EQ(answers[1].msn, 2U);
}

TEST_F(ResponderTest, PacketInsideAMessage_DoesNotCountInTheMsn) {
  send(write(BthOpcode::WriteFirst, kPsn, 2 * kMtu), kMtu);
  EXPECT_EQ(peer.take().at(0).msn, 0U);
}

TEST_F(ResponderTest, QpInRtr_ServesRequests) {
  ASSERT_TRUE(host.create(0x50, options).ok());
  ASSERT_TRUE(host.modify(0x50, QpTransition::Rst2Init, kPeerQpn, options).ok());
  ASSERT_TRUE(host.modify(0x50, QpTransition::Init2Rtr, kPeerQpn, options).ok());
  path.dest_qpn = 0x50;
  send(write_only());
  EXPECT_TRUE(written(64));
  expect_answer(syndrome::kAckUnlimited, kPsn);
}

TEST_F(ResponderTest, PsnWraps_NextPacketIsExpected) {
  options.psn = 0xffffff;
  host.connect(0x50, kPeerQpn, options);
  path.dest_qpn = 0x50;
  send(write_only(0xffffff));
  send(write_only(0));
  EXPECT_EQ(peer.take().size(), 2U);
  EXPECT_EQ(host.counters().naks_sent, 0U);
}

// ---- the PSN window ----

TEST_F(ResponderTest, Duplicate_IsAcknowledgedAgainAndNotWritten) {
  send(write_only());
  static_cast<void>(peer.take());
  std::ranges::fill(region.bytes, std::byte{0});
  PacketHeader again = write_only();
  again.ack_request = false;
  send(again);
  EXPECT_TRUE(untouched());
  expect_answer(syndrome::kAckUnlimited, kPsn);
}

TEST_F(ResponderTest, DuplicateOfAnOldPacket_AcknowledgesTheLatest) {
  for (std::uint32_t i = 0; i < 3; ++i) send(write_only(kPsn + i));
  static_cast<void>(peer.take());
  send(write_only(kPsn));
  expect_answer(syndrome::kAckUnlimited, kPsn + 2);
}

TEST_F(ResponderTest, DuplicateUnderADeadKey_IsStillOnlyAcknowledged) {
  send(write_only());
  static_cast<void>(peer.take());
  host.destroy_key(rkey);
  send(write_only());
  expect_answer(syndrome::kAckUnlimited, kPsn);
  EXPECT_EQ(host.state(kQpn), prm::QpState::RTS);
}

TEST_F(ResponderTest, DuplicateRead_IsDropped) {
  send(write_only());
  static_cast<void>(peer.take());
  send(write(BthOpcode::ReadRequest, kPsn, 64), 0);
  expect_silence();
}

TEST_F(ResponderTest, PacketAhead_GetsSequenceErrorWithTheExpectedPsnOnce) {
  send(write_only(kPsn + 1));
  send(write_only(kPsn + 2));
  EXPECT_TRUE(untouched());
  expect_answer(syndrome::kNakPsnSequenceError, kPsn);
  EXPECT_EQ(host.state(kQpn), prm::QpState::RTS);
}

TEST_F(ResponderTest, SecondGapAfterRecovery_GetsAnotherSequenceError) {
  send(write_only(kPsn + 1));
  send(write_only(kPsn));
  send(write_only(kPsn + 3));
  const auto answers = peer.take();
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_EQ(answers[2].syndrome, syndrome::kNakPsnSequenceError);
  EXPECT_EQ(answers[2].psn, kPsn + 1);
}

// ---- refusals: NAK, error, event ----

TEST_F(ResponderTest, RweClear_IsInvalidRequest) {
  options.rwe = false;
  const std::uint32_t rights = prm::QpOptPar::RRE | prm::QpOptPar::RWE | prm::QpOptPar::RAE;
  ASSERT_TRUE(host.modify(kQpn, QpTransition::Rts2Rts, 0, options, rights).ok());
  send(write_only());
  EXPECT_TRUE(untouched());
  expect_answer(syndrome::kNakInvalidRequest, kPsn);
  expect_error_event(prm::EventType::WQ_INVAL_REQ_ERROR);
}

TEST_F(ResponderTest, DeadKey_IsRemoteAccessError) {
  host.destroy_key(rkey);
  send(write_only());
  EXPECT_TRUE(untouched());
  expect_answer(syndrome::kNakRemoteAccessError, kPsn);
  expect_error_event(prm::EventType::WQ_ACCESS_ERROR);
}

TEST_F(ResponderTest, AfterTheAccessError_EverythingMeetsSilence) {
  host.destroy_key(rkey);
  send(write_only());
  static_cast<void>(peer.take());
  send(write_only());
  send(write_only(kPsn + 1));
  expect_silence();
}

TEST_F(ResponderTest, KeyDestroyedInsideAMessage_RefusesTheNextPacket) {
  send(write(BthOpcode::WriteFirst, kPsn, 2 * kMtu), kMtu);
  static_cast<void>(peer.take());
  host.destroy_key(rkey);
  send(write(BthOpcode::WriteLast, kPsn + 1, 0), kMtu);
  expect_answer(syndrome::kNakRemoteAccessError, kPsn + 1);
  EXPECT_TRUE(written(kMtu));
  EXPECT_EQ(region.bytes[kMtu], std::byte{0});
}

TEST_F(ResponderTest, WrongKeyByte_IsRemoteAccessError) {
  PacketHeader header = write_only();
  header.rkey = rkey ^ 1;
  send(header);
  expect_answer(syndrome::kNakRemoteAccessError, kPsn);
}

TEST_F(ResponderTest, KeyOfAnotherPd_IsRemoteAccessError) {
  rkey = host.make_key(region, access::kRemoteWrite, kPd + 1);
  send(write_only());
  expect_answer(syndrome::kNakRemoteAccessError, kPsn);
}

TEST_F(ResponderTest, KeyBoundToAnotherQp_IsRemoteAccessError) {
  rkey = host.make_key(region, access::kRemoteWrite, kPd, kQpn + 1);
  send(write_only());
  expect_answer(syndrome::kNakRemoteAccessError, kPsn);
}

TEST_F(ResponderTest, KeyBoundToThisQp_IsServed) {
  rkey = host.make_key(region, access::kRemoteWrite, kPd, kQpn);
  send(write_only());
  expect_answer(syndrome::kAckUnlimited, kPsn);
}

TEST_F(ResponderTest, KeyWithoutRemoteWrite_IsRemoteAccessError) {
  rkey = host.make_key(region, access::kRemoteRead | access::kLocalWrite);
  send(write_only());
  expect_answer(syndrome::kNakRemoteAccessError, kPsn);
}

TEST_F(ResponderTest, RangePastTheEnd_IsRemoteAccessErrorBeforeAnyByteIsWritten) {
  PacketHeader header = write(BthOpcode::WriteFirst, kPsn, 2 * kMtu);
  header.va = address + region.bytes.size() - 2 * kMtu + 1;
  send(header, kMtu);
  EXPECT_TRUE(untouched());
  expect_answer(syndrome::kNakRemoteAccessError, kPsn);
}

TEST_F(ResponderTest, RangeThatWrapsAround_IsRemoteAccessError) {
  PacketHeader header = write_only();
  header.va = ~std::uint64_t{0} - 10;
  send(header);
  expect_answer(syndrome::kNakRemoteAccessError, kPsn);
}

struct BadRequest {
  const char* name;
  BthOpcode opcode;
  std::uint32_t dma_length;
  std::size_t payload;
};
class InvalidRequest : public ResponderTest, public ::testing::WithParamInterface<BadRequest> {};

TEST_P(InvalidRequest, OutOfPlaceOrLength_IsNakInvalidRequestAndErrorEvent) {
  send(write(GetParam().opcode, kPsn, GetParam().dma_length), GetParam().payload);
  EXPECT_TRUE(untouched());
  expect_answer(syndrome::kNakInvalidRequest, kPsn);
  expect_error_event(prm::EventType::WQ_INVAL_REQ_ERROR);
}

INSTANTIATE_TEST_SUITE_P(
    Responder, InvalidRequest,
    ::testing::Values(BadRequest{"MiddleWithoutFirst", BthOpcode::WriteMiddle, 0, kMtu},
                      BadRequest{"LastWithoutFirst", BthOpcode::WriteLast, 0, 64},
                      BadRequest{"OnlyShorterThanItSays", BthOpcode::WriteOnly, 65, 64},
                      BadRequest{"OnlyLongerThanItSays", BthOpcode::WriteOnly, 63, 64},
                      BadRequest{"OnlyAboveMtu", BthOpcode::WriteOnly, kMtu + 4, kMtu + 4},
                      BadRequest{"FirstBelowMtu", BthOpcode::WriteFirst, 4 * kMtu, kMtu - 4},
                      BadRequest{"FirstThatIsAll", BthOpcode::WriteFirst, kMtu, kMtu},
                      BadRequest{"TwoGigabytesAndMore", BthOpcode::WriteFirst, 0x80000001, kMtu},
                      BadRequest{"SendAboveMtu", BthOpcode::SendOnly, 0, kMtu + 4},
                      BadRequest{"SendFirstBelowMtu", BthOpcode::SendFirst, 0, kMtu - 4},
                      BadRequest{"SendLastWithoutFirst", BthOpcode::SendLast, 0, 64},
                      BadRequest{"ReadOfTwoGigabytesAndMore", BthOpcode::ReadRequest, 0x80000001,
                                 0}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_F(ResponderTest, OnlyInsideAMessage_IsInvalidRequest) {
  send(write(BthOpcode::WriteFirst, kPsn, 2 * kMtu), kMtu);
  static_cast<void>(peer.take());
  send(write_only(kPsn + 1));
  expect_answer(syndrome::kNakInvalidRequest, kPsn + 1);
}

TEST_F(ResponderTest, LastWithOtherLengthThanRemains_IsInvalidRequest) {
  send(write(BthOpcode::WriteFirst, kPsn, 2 * kMtu), kMtu);
  static_cast<void>(peer.take());
  send(write(BthOpcode::WriteLast, kPsn + 1, 0), kMtu - 4);
  expect_answer(syndrome::kNakInvalidRequest, kPsn + 1);
}

TEST_F(ResponderTest, MiddleWhereTheLastIsDue_IsInvalidRequest) {
  send(write(BthOpcode::WriteFirst, kPsn, 2 * kMtu), kMtu);
  static_cast<void>(peer.take());
  send(write(BthOpcode::WriteMiddle, kPsn + 1, 0), kMtu);
  expect_answer(syndrome::kNakInvalidRequest, kPsn + 1);
}

// ---- silence ----

TEST_F(ResponderTest, QpInReset_IsSilent) {
  ASSERT_TRUE(host.modify(kQpn, QpTransition::ToRst).ok());
  send(write_only());
  EXPECT_TRUE(untouched());
  expect_silence();
}

TEST_F(ResponderTest, QpInInit_IsSilent) {
  ASSERT_TRUE(host.create(0x50, options).ok());
  ASSERT_TRUE(host.modify(0x50, QpTransition::Rst2Init, kPeerQpn, options).ok());
  path.dest_qpn = 0x50;
  send(write_only());
  EXPECT_TRUE(untouched());
  expect_silence();
}

TEST_F(ResponderTest, QpInError_IsSilent) {
  ASSERT_TRUE(host.modify(kQpn, QpTransition::ToErr).ok());
  send(write_only());
  EXPECT_TRUE(untouched());
  expect_silence();
  EXPECT_FALSE(host.poll_eq());
}

TEST_F(ResponderTest, UnknownQpn_IsDropped) {
  path.dest_qpn = 0x99;
  send(write_only());
  expect_silence();
  EXPECT_EQ(host.counters().frames_dropped, 1U);
}

TEST_F(ResponderTest, QpnBeyondTheTable_IsDropped) {
  path.dest_qpn = 0xffffff;
  send(write_only());
  expect_silence();
}

TEST_F(ResponderTest, DestroyedQp_IsSilent) {
  ASSERT_TRUE(host.transport().destroy_qp(kQpn).ok());
  send(write_only());
  EXPECT_TRUE(untouched());
  expect_silence();
}

TEST_F(ResponderTest, WrongIcrc_IsCountedAndDropped) {
  const FrameTemplate frame(path);
  std::vector<std::byte> bytes(kMaxFrameBytes);
  bytes.resize(frame.finish(bytes, write_only(), 64));
  corrupt_icrc(bytes);
  peer.send_raw(bytes);
  host.run();
  EXPECT_TRUE(untouched());
  expect_silence();
  EXPECT_EQ(host.counters().icrc_errors, 1U);
  EXPECT_EQ(host.counters().frames_dropped, 1U);
}

TEST_F(ResponderTest, ForeignSourceAddress_IsDropped) {
  path.source_ip[15] = 99;
  send(write_only());
  EXPECT_TRUE(untouched());
  expect_silence();
}

TEST_F(ResponderTest, OtherPkey_IsDropped) {
  path.pkey = 0x8001;
  send(write_only());
  expect_silence();
  EXPECT_EQ(host.violations().pkey, 1U);
}

TEST_F(ResponderTest, LimitedMemberPkey_IsServed) {
  path.pkey = 0x7fff;
  send(write_only());
  expect_answer(syndrome::kAckUnlimited, kPsn);
}

TEST_F(ResponderTest, RandomFramesToTheQp_DoNoHarm) {
  std::vector<std::byte> frame(kMaxFrameBytes);
  for (std::uint32_t opcode = 0; opcode < 256; ++opcode) {
    PacketHeader header = write_only(kPsn);
    header.opcode = static_cast<BthOpcode>(opcode);
    frame.resize(kMaxFrameBytes);
    frame.resize(FrameTemplate(path).finish(frame, header, opcode));
    peer.send_raw(frame);
    host.run();
  }
  EXPECT_EQ(host.counters().dma_faults, 0U);
}

// ---- memory that is not there ----

TEST_F(ResponderTest, IommuUnmapped_WriteIsLostAndAcknowledgedAsPcieWritesArePosted) {
  host.unmap(region);
  send(write_only());
  EXPECT_TRUE(untouched());
  expect_answer(syndrome::kAckUnlimited, kPsn);
  EXPECT_EQ(host.counters().dma_faults, 1U);
}

TEST_F(ResponderTest, BusMasterOff_NothingIsWritten) {
  host.dma().set_bus_master(false);
  send(write_only());
  EXPECT_TRUE(untouched());
}

TEST_F(ResponderTest, ErrorOfTheResponder_FlushesItsOwnSends) {
  options.ack_timeout = 0;
  host.connect(0x50, kPeerQpn, options);
  path.dest_qpn = 0x50;
  const std::uint32_t lkey = host.make_key(region, access::kLocalRead);
  host.post_and_ring(0x50, {0x1000, 1, lkey, address, 64, true});
  host.run();
  static_cast<void>(peer.take());
  host.destroy_key(rkey);
  send(write_only());
  const auto cqes = host.drain_cq();
  ASSERT_EQ(cqes.size(), 1U);
  EXPECT_EQ(cqes[0].syndrome, prm::CqeSyndrome::WR_FLUSH_ERR);
}

}  // namespace
}  // namespace portcullis::model::testing
