// SPDX-License-Identifier: BSD-3-Clause
//
// Rendezvous: the device fetches what a request names and tells the peer. Rules as in
// model/transport/responder_tagged.cpp and model/tag_matching/tagged_qp.hpp.
#include <random>

#include "tests/model/transport/holder.hpp"
#include "tests/model/transport/tag_rig.hpp"

namespace portcullis::model::testing {
namespace {

// ---- rendezvous ----

TEST_F(TagMatching, RendezvousThatMatches_IsFetchedAndThePeerToldWithItsHeaders) {
  append(0);
  post_client(8);
  put_request(300);
  send(kRequest);
  const std::vector<Cqe> all = host.drain_cq();
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(said_by(all[0]), with_tag(said(CqeOpcode::NO_PACKET, CqeAppOp::TM_CONSUMED, 0, 0)));
  EXPECT_EQ(said_by(all[1]), said(CqeOpcode::RESP_SEND, CqeAppOp::TM_EXPECTED, 0, 300));
  EXPECT_EQ(all[2].qpn, kClient);
  EXPECT_EQ(all[2].opcode, CqeOpcode::RESP_SEND);
  EXPECT_EQ(all[2].byte_cnt, kRequest);
  EXPECT_TRUE(has_arrived(0, kRoom, 300));
  put_header(TmhOp::FIN);
  EXPECT_TRUE(has_arrived(8, 0, kRequest));
}

TEST_F(TagMatching, RendezvousWithMetaDataAndManyPackets_BringsItsDataAlone) {
  append(0);
  post_client(8);
  put_request(4 * kMtu);
  send(prm::kMaxRndvMessageBytes);
  EXPECT_THAT(heard_of(kServer), SizeIs(2));
  EXPECT_TRUE(has_arrived(0, kRoom, 4 * kMtu));
}

TEST_F(TagMatching, RendezvousOfNothing_CompletesTwice) {
  append(0);
  post_client(8);
  put_request(0);
  send(kRequest);
  EXPECT_THAT(heard_of(kServer),
              ElementsAre(with_tag(said(CqeOpcode::NO_PACKET, CqeAppOp::TM_CONSUMED, 0, 0)),
                          said(CqeOpcode::RESP_SEND, CqeAppOp::TM_EXPECTED, 0, 0)));
}

TEST_F(TagMatching, MoreRendezvousThanTheDeviceKeepsAtATime_AreFetchedOneAfterAnother) {
  put_request(64);
  for (std::uint32_t i = 0; i < 300; ++i) {
    std::vector<std::byte> change =
        segment(TmOpcode::APPEND, static_cast<std::uint16_t>((i + 1) % 8), 0, 0);
    prm::View<prm::mlx5_wqe_tm_seg>::at(change).put<"append_tag">(kTag);
    prm::View<prm::mlx5_wqe_tm_seg>::at(change).put<"append_mask">(~std::uint64_t{0});
    const std::array<Piece, 1> piece{Piece{address_of(target), kRoom, lkey_target}};
    const std::vector<std::byte> data = segments_of(piece);
    change.insert(change.end(), data.begin(), data.end());
    command(change);
    post_client(8);
    send(kRequest);
    ASSERT_THAT(heard_of(kServer), SizeIs(2));
  }
  EXPECT_EQ(host.state(kServer), prm::QpState::RTS);
}

TEST_F(TagMatching, RendezvousTooLongForItsEntry_IsSoftwaresAndHasItsHeadersThere) {
  append(0, kTag, ~0ULL, 299);
  put_request(300);
  send(prm::kMaxRndvMessageBytes);
  EXPECT_THAT(heard_of(kServer),
              ElementsAre(with_tag(
                  said(CqeOpcode::RESP_SEND, CqeAppOp::TM_CONSUMED_MSG_SW_RDNV, 0, kRequest))));
  EXPECT_TRUE(has_arrived(0, 0, kRequest));
  EXPECT_EQ(place(0, kRequest + 1).back(), std::byte{0});
}

TEST_F(TagMatching, RendezvousForAnEntryShorterThanItsHeaders_HasTheirBeginningThere) {
  append(0, kTag, ~0ULL, 5);
  put_request(300);
  send(kRequest);
  EXPECT_THAT(
      heard_of(kServer),
      ElementsAre(with_tag(said(CqeOpcode::RESP_SEND, CqeAppOp::TM_CONSUMED_MSG_SW_RDNV, 0, 5))));
  EXPECT_TRUE(has_arrived(0, 0, 5));
}

TEST_F(TagMatching, RendezvousOfAQueuePairThatSendsItself_IsSoftwares) {
  append(0);
  put_request(300);
  const std::array<Piece, 1> pieces{Piece{address_of(source), kRequest, lkey_source}};
  host.post_raw(kCommand, WqeOpcode::SEND, segments_of(pieces), false);
  host.ring(kCommand);
  host.run();
  EXPECT_THAT(heard_of(kCommand),
              ElementsAre(with_tag(
                  said(CqeOpcode::RESP_SEND, CqeAppOp::TM_CONSUMED_MSG_SW_RDNV, 0, kRequest))));
}

TEST_F(TagMatching, RendezvousThatMatchesNothing_IsUnexpectedAndNothingIsFetched) {
  post(5);
  put_request(300);
  send(prm::kMaxRndvMessageBytes);
  EXPECT_THAT(heard_of(kServer), ElementsAre(said(CqeOpcode::RESP_SEND, CqeAppOp::TM_UNEXPECTED, 0,
                                                  prm::kMaxRndvMessageBytes)));
}

TEST_F(TagMatching, RendezvousLongerThanMayBe_IsUnexpected) {
  append(0);
  post(5);
  put_request(300);
  send(prm::kMaxRndvMessageBytes + 1);
  EXPECT_THAT(heard_of(kServer), ElementsAre(said(CqeOpcode::RESP_SEND, CqeAppOp::TM_UNEXPECTED, 0,
                                                  prm::kMaxRndvMessageBytes + 1)));
}

TEST_F(TagMatching, RendezvousOfWhatThePeerDoesNotAllow_EndsTheEntryAndTheConnection) {
  append(0);
  put_request(300, rkey_source ^ 0xff, address_of(source) + kRoom);
  send(kRequest);
  EXPECT_THAT(heard_of(kServer),
              ElementsAre(with_tag(said(CqeOpcode::NO_PACKET, CqeAppOp::TM_CONSUMED, 0, 0)),
                          said(CqeOpcode::RESP_SEND, CqeAppOp::TM_MSG_COMPLETION_CANCELED, 0, 0)));
  EXPECT_EQ(host.state(kServer), prm::QpState::ERR);
  EXPECT_TRUE(is_untouched(0));
}

TEST_F(TagMatching, RendezvousOfMoreThanAMessageMayHave_EndsTheEntry) {
  append(0, kTag, ~0ULL, 0x7fffffff);
  put_request(0x7fffffff);
  send(kRequest);
  EXPECT_THAT(heard_of(kServer),
              ElementsAre(with_tag(said(CqeOpcode::NO_PACKET, CqeAppOp::TM_CONSUMED, 0, 0)),
                          said(CqeOpcode::RESP_SEND, CqeAppOp::TM_MSG_COMPLETION_CANCELED, 0, 0)));
}

TEST_F(TagMatching, PeerThatIsNotThereForTheEnd_LeavesTheDataValid) {
  client_options.log_rq_size.reset();
  client_options.rnr_retry = server_options.rnr_retry = 0;
  host.connect(kOtherClient, kOtherServer, client_options);
  host.connect(kOtherServer, kOtherClient, server_options);
  append(0);
  put_request(300);
  send(kRequest, kOtherClient);
  EXPECT_THAT(heard_of(kOtherServer),
              ElementsAre(with_tag(said(CqeOpcode::NO_PACKET, CqeAppOp::TM_CONSUMED, 0, 0)),
                          said(CqeOpcode::RESP_SEND, CqeAppOp::TM_EXPECTED, 0, 300)));
  EXPECT_EQ(host.state(kOtherServer), prm::QpState::ERR);
}

// ---- a bare port plays the peer ----

TEST_F(TagMatchingAlone, DataHasCome_ThePeerIsToldBehindIt) {
  begin_rendezvous(100);
  EXPECT_THAT(peer.take(), IsEmpty());
  respond(BthOpcode::ReadResponseOnly, kPsn, 100);
  const std::vector<Packet> told = peer.take();
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].operation(), BthOpcode::SendOnly);
  EXPECT_EQ(told[0].psn, kPsn + 1);
  put_header(TmhOp::FIN);
  EXPECT_TRUE(std::ranges::equal(told[0].payload, source.bytes.first(kRequest)));
  EXPECT_TRUE(has_arrived(0, kRoom, 100));
  EXPECT_THAT(heard_of(kAlone),
              ElementsAre(said(CqeOpcode::RESP_SEND, CqeAppOp::TM_EXPECTED, 0, 100)));
}

TEST_F(TagMatchingAlone, ErrorWhileTheDataIsFetched_EndsTheEntryAndNothingLandsAfter) {
  begin_rendezvous(100);
  ASSERT_TRUE(host.modify(kAlone, QpTransition::ToErr).ok());
  EXPECT_THAT(heard_of(kAlone), ElementsAre(canceled()));
  respond(BthOpcode::ReadResponseOnly, kPsn, 100);
  EXPECT_TRUE(is_untouched(0));
  EXPECT_THAT(heard_of(kAlone), IsEmpty());
}

TEST_F(TagMatchingAlone, ErrorInTheMiddleOfTheData_LeavesWhatCameAndNothingLandsAfter) {
  begin_rendezvous(2 * kMtu);
  respond(BthOpcode::ReadResponseFirst, kPsn, kMtu);
  ASSERT_TRUE(host.modify(kAlone, QpTransition::ToErr).ok());
  respond(BthOpcode::ReadResponseLast, kPsn + 1, kMtu);
  EXPECT_TRUE(has_arrived(0, kRoom, kMtu));
  EXPECT_EQ(place(0, kMtu + 1).back(), std::byte{0});
  EXPECT_THAT(heard_of(kAlone), ElementsAre(canceled()));
}

TEST_F(TagMatchingAlone, KeyGoneWhileTheDataIsFetched_EndsTheEntryAndNothingLandsAfter) {
  begin_rendezvous(100);
  host.destroy_key(lkey_target);
  respond(BthOpcode::ReadResponseOnly, kPsn, 100);
  EXPECT_TRUE(is_untouched(0));
  EXPECT_THAT(heard_of(kAlone), ElementsAre(canceled()));
  EXPECT_EQ(host.state(kAlone), prm::QpState::ERR);
}

TEST_F(TagMatchingAlone, ResetWhileTheDataIsFetched_ForgetsItAndTheConnectionCanBeMadeAgain) {
  begin_rendezvous(100);
  ASSERT_TRUE(host.modify(kAlone, QpTransition::ToRst).ok());
  respond(BthOpcode::ReadResponseOnly, kPsn, 100);
  EXPECT_TRUE(is_untouched(0));
  EXPECT_THAT(heard_of(kAlone), IsEmpty());
  ASSERT_TRUE(host.destroy(kAlone).ok());
  connect_alone();
  append(1);
  send_packet(BthOpcode::SendOnly, kPsn, 0, kRequest);
  EXPECT_TRUE(read_request());
}

TEST_F(TagMatchingAlone, PeerThatNeverAnswers_EndsTheEntryWhenTheRetriesDo) {
  begin_rendezvous(100);
  host.run_until(host.now_ns() + 10 * (std::uint64_t{4096} << 14));
  EXPECT_THAT(heard_of(kAlone), ElementsAre(canceled()));
  EXPECT_EQ(host.state(kAlone), prm::QpState::ERR);
}

TEST_F(TagMatchingAlone, RendezvousBeforeTheQueuePairSends_IsFetchedWhenItDoes) {
  ASSERT_TRUE(host.destroy(kAlone).ok());
  QpOptions options = server_options;
  options.dest_mac = kPeerMac;
  options.dest_gid = kPeerGid;
  ASSERT_TRUE(host.create(kAlone, options).ok());
  ASSERT_TRUE(host.modify(kAlone, QpTransition::Rst2Init, kPeerQpn, options).ok());
  ASSERT_TRUE(host.modify(kAlone, QpTransition::Init2Rtr, kPeerQpn, options).ok());
  append(0);
  put_request(100, 0xabcd, 0x10000);
  send_packet(BthOpcode::SendOnly, kPsn, 0, kRequest);
  EXPECT_FALSE(read_request());
  ASSERT_TRUE(host.modify(kAlone, QpTransition::Rtr2Rts, kPeerQpn, options).ok());
  host.run();
  EXPECT_TRUE(read_request());
}

/// More under way than the device's queue holds, from a peer that never answers: what has no room
/// is software's.
TEST_F(TagMatchingAlone, MoreRequestsThanTheDeviceHasRoomFor_AreSoftwares) {
  put_request(64, 0xabcd, 0x10000);
  CqeAppOp last{};
  for (std::uint32_t i = 0; i < TaggedQp::kBlocks / 2 + 1; ++i) {
    std::vector<std::byte> change =
        segment(TmOpcode::APPEND, static_cast<std::uint16_t>((i + 1) % 8), 0, 0);
    const std::array<Piece, 1> piece{Piece{address_of(target), kRoom, lkey_target}};
    const std::vector<std::byte> data = segments_of(piece);
    change.insert(change.end(), data.begin(), data.end());
    prm::View<prm::mlx5_wqe_tm_seg>::at(change).put<"append_tag">(kTag);
    prm::View<prm::mlx5_wqe_tm_seg>::at(change).put<"append_mask">(~std::uint64_t{0});
    command(change);
    send_packet(BthOpcode::SendOnly, kPsn + i, 0, kRequest);
    const std::vector<Said> heard = heard_of(kAlone);
    ASSERT_THAT(heard, SizeIs(1));
    last = heard[0].op;
  }
  EXPECT_EQ(last, CqeAppOp::TM_CONSUMED_MSG_SW_RDNV);
}

/// Whatever a guest writes into its segments and a peer into its headers, the model goes on.
TEST_F(TagMatchingAlone, AnyBytesInSegmentsAndHeaders_LeaveTheModelRunning) {
  std::mt19937 random(3);
  for (std::uint32_t round = 0; round < 300; ++round) {
    std::vector<std::byte> change(prm::mlx5_wqe_tm_seg::bytes + prm::mlx5_wqe_data_seg::bytes);
    for (std::byte& each : change) each = static_cast<std::byte>(random() & 0xff);
    change[0] = static_cast<std::byte>(random() % 4 << 4);
    change[2] = std::byte{0};
    change[3] = static_cast<std::byte>(random() % 10);
    std::ranges::fill(std::span(change).subspan(16, 16), std::byte{0});
    host.post_raw(kCommand, WqeOpcode::TAG_MATCHING, change, false);
    host.ring(kCommand);
    post(5);
    for (std::byte& each : source.bytes.first(kRequest))
      each = static_cast<std::byte>(random() & 0xff);
    source.bytes[0] = static_cast<std::byte>(random() % 5);
    send_packet(BthOpcode::SendOnly, kPsn, 0, random() % 65);
    static_cast<void>(host.drain_cq());
    ASSERT_TRUE(host.destroy(kCommand).ok());
    host.connect(kCommand, kCommand, command_options());
    ASSERT_TRUE(host.destroy(kAlone).ok());
    connect_alone();
  }
  EXPECT_EQ(host.state(kAlone), prm::QpState::RTS);
}

// ---- an access that is held between its check and its end ----

class TagMatchingHeld : public TagMatchingAlone {
 protected:
  TagMatchingHeld() : TagMatchingAlone(std::make_shared<Holder>()) {
    pace().holds[PacePoint::WritePending] = 0;
  }
  [[nodiscard]] Holder& pace() { return static_cast<Holder&>(*held); }
  void release() {
    ASSERT_TRUE(host.transport().release(pace().tickets.at(0)));
    host.run();
  }
};

TEST_F(TagMatchingHeld, EagerWhoseDataIsHeld_CompletesWhenItIsThere) {
  append(0);
  put_header(TmhOp::EAGER);
  send_packet(BthOpcode::SendOnly, kPsn, 0, kHeader + 10);
  EXPECT_THAT(heard_of(kAlone), IsEmpty());
  release();
  EXPECT_THAT(heard_of(kAlone),
              ElementsAre(with_tag(said(CqeOpcode::RESP_SEND, CqeAppOp::TM_CONSUMED_MSG, 0, 10))));
  EXPECT_TRUE(has_arrived(0, kHeader, 10));
}

TEST_F(TagMatchingHeld, ErrorWhileAnEagersDataIsHeld_EndsItsEntryOnce) {
  append(0);
  put_header(TmhOp::EAGER);
  send_packet(BthOpcode::SendOnly, kPsn, 0, kHeader + 10);
  ASSERT_TRUE(host.modify(kAlone, QpTransition::ToErr).ok());
  release();
  EXPECT_THAT(heard_of(kAlone), ElementsAre(canceled()));
}

TEST_F(TagMatchingHeld, ErrorWhileTheFirstOfSeveralPacketsIsHeld_EndsItsEntryOnce) {
  append(0);
  put_header(TmhOp::EAGER);
  send_packet(BthOpcode::SendFirst, kPsn, 0, kMtu);
  ASSERT_TRUE(host.modify(kAlone, QpTransition::ToErr).ok());
  release();
  EXPECT_THAT(heard_of(kAlone), ElementsAre(canceled()));
}

TEST_F(TagMatchingHeld, ErrorWhileAnUnexpectedMessageIsHeld_FlushesItsReceive) {
  post(5);
  put_header(TmhOp::EAGER);
  send_packet(BthOpcode::SendOnly, kPsn, 0, kHeader + 10);
  ASSERT_TRUE(host.modify(kAlone, QpTransition::ToErr).ok());
  release();
  const std::vector<Cqe> all = host.drain_cq();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].opcode, CqeOpcode::RESP_ERR);
  EXPECT_EQ(all[0].syndrome, CqeSyndrome::WR_FLUSH_ERR);
}

/// A request that is behind what is held.
TEST_F(TagMatchingHeld, ErrorBeforeARendezvousBegan_EndsItsEntryAndNothingIsFetched) {
  append(0);
  append(1);
  put_header(TmhOp::EAGER);
  send_packet(BthOpcode::SendOnly, kPsn, 0, kHeader + 10);
  put_request(100, 0xabcd, 0x10000);
  send_packet(BthOpcode::SendOnly, kPsn + 1, 0, kRequest);
  ASSERT_TRUE(host.modify(kAlone, QpTransition::ToErr).ok());
  release();
  EXPECT_THAT(heard_of(kAlone), SizeIs(2));
  EXPECT_FALSE(read_request());
}

}  // namespace
}  // namespace portcullis::model::testing
