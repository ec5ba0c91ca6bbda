// SPDX-License-Identifier: BSD-3-Clause
//
// Messages with tags and without, and changes of the list by a command QP. Rules as in
// model/transport/responder_tagged.cpp and requester_tagged.cpp.
#include "tests/model/transport/tag_rig.hpp"

namespace portcullis::model::testing {
namespace {

// ---- eager messages ----

TEST_F(TagMatching, EagerThatMatches_IsInItsBufferWithoutItsHeader) {
  append(0);
  send_eager(100);
  EXPECT_THAT(heard_of(kServer),
              ElementsAre(with_tag(said(CqeOpcode::RESP_SEND, CqeAppOp::TM_CONSUMED_MSG, 0, 100))));
  EXPECT_TRUE(has_arrived(0, kHeader, 100));
}

TEST_F(TagMatching, Completion_NamesTheSharedQueueForTheDriver) {
  append(0);
  send_eager(100);
  const std::vector<Cqe> all = host.drain_cq();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].user_index, kUserIndex);
}

TEST_F(TagMatching, EagerWithoutData_Matches) {
  append(0);
  send_eager(0);
  EXPECT_THAT(heard_of(kServer),
              ElementsAre(with_tag(said(CqeOpcode::RESP_SEND, CqeAppOp::TM_CONSUMED_MSG, 0, 0))));
}

TEST_F(TagMatching, EagerOfSeveralPackets_IsSaidToMatchAndThenToBeThere) {
  append(0);
  send_eager(3 * kMtu);
  EXPECT_THAT(heard_of(kServer),
              ElementsAre(with_tag(said(CqeOpcode::NO_PACKET, CqeAppOp::TM_CONSUMED, 0, 0)),
                          said(CqeOpcode::RESP_SEND, CqeAppOp::TM_EXPECTED, 0, 3 * kMtu)));
  EXPECT_TRUE(has_arrived(0, kHeader, 3 * kMtu));
}

TEST_F(TagMatching, EagerWithImmediate_HasItInTheCompletionOfItsData) {
  append(0);
  put_header(TmhOp::EAGER);
  send(kHeader + 2 * kMtu, kClient, WqeOpcode::SEND_IMM, 0x1234);
  const std::vector<Cqe> all = host.drain_cq();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[1].opcode, CqeOpcode::RESP_SEND_IMM);
  EXPECT_EQ(all[1].immediate, 0x1234U);
  EXPECT_EQ(said_by(all[1]).op, CqeAppOp::TM_EXPECTED);
}

TEST_F(TagMatching, EagerThatMatchesNothing_IsWholeInAReceiveAndCounted) {
  append(0, kTag + 1);
  post(5);
  send_eager(100);
  EXPECT_THAT(heard_of(kServer),
              ElementsAre(said(CqeOpcode::RESP_SEND, CqeAppOp::TM_UNEXPECTED, 0, kHeader + 100)));
  EXPECT_TRUE(has_arrived(5, 0, kHeader + 100));
  EXPECT_EQ(hw_phase(), 1U);
}

TEST_F(TagMatching, SeveralMatch_TheOldestHasIt) {
  append(0, 0x12, 0xff);
  append(1, 0x12, 0xff);
  send_eager(10, 0xff12);
  EXPECT_THAT(
      heard_of(kServer),
      ElementsAre(with_tag(said(CqeOpcode::RESP_SEND, CqeAppOp::TM_CONSUMED_MSG, 0, 10), 0xff12)));
  EXPECT_TRUE(is_untouched(1));
}

TEST_F(TagMatching, TwoQueuePairsOfOneList_MatchInTheOrderTheirMessagesCome) {
  host.connect(kOtherClient, kOtherServer, client_options);
  host.connect(kOtherServer, kOtherClient, server_options);
  append(0);
  append(1);
  send_eager(10, kTag, kOtherClient);
  send_eager(20);
  const std::vector<Cqe> all = host.drain_cq();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].qpn, kOtherServer);
  EXPECT_EQ(said_by(all[0]).index, 0U);
  EXPECT_EQ(all[1].qpn, kServer);
  EXPECT_EQ(said_by(all[1]).index, 1U);
}

TEST_F(TagMatching, NothingPostedForAnUnexpectedMessage_IsNotCountedAndMayMatchLater) {
  send_eager(10);
  host.run_until(host.now_ns() + 5'000);
  EXPECT_EQ(hw_phase(), 0U);
  append(0);
  host.run_until(host.now_ns() + 1'000'000);
  EXPECT_THAT(heard_of(kServer),
              ElementsAre(with_tag(said(CqeOpcode::RESP_SEND, CqeAppOp::TM_CONSUMED_MSG, 0, 10))));
}

TEST_F(TagMatching, EagerTooLongForItsEntry_IsRefusedAndTheEntryEnds) {
  append(0, kTag, ~0ULL, 50);
  send_eager(51);
  EXPECT_THAT(heard_of(kServer),
              ElementsAre(said(CqeOpcode::RESP_SEND, CqeAppOp::TM_MSG_COMPLETION_CANCELED, 0, 0)));
  EXPECT_EQ(host.state(kServer), prm::QpState::ERR);
  EXPECT_TRUE(is_untouched(0));
}

TEST_F(TagMatching, EagerToAKeyThatDoesNotAllowIt_IsRefusedAndTheEntryEnds) {
  append(0);
  host.destroy_key(lkey_target);
  send_eager(10);
  EXPECT_THAT(heard_of(kServer),
              ElementsAre(said(CqeOpcode::RESP_SEND, CqeAppOp::TM_MSG_COMPLETION_CANCELED, 0, 0)));
  EXPECT_EQ(host.state(kServer), prm::QpState::ERR);
}

// ---- messages without a tag ----

TEST_F(TagMatching, NoTag_IsWholeInAReceiveAndNotCounted) {
  append(0, 0, 0);
  post(5);
  put_header(TmhOp::NO_TAG);
  send(100);
  EXPECT_THAT(heard_of(kServer),
              ElementsAre(said(CqeOpcode::RESP_SEND, CqeAppOp::TM_NO_TAG, 0, 100)));
  EXPECT_TRUE(has_arrived(5, 0, 100));
  EXPECT_EQ(hw_phase(), 0U);
}

TEST_F(TagMatching, EndOfARendezvous_IsOneWithoutATag) {
  append(0, 0, 0);
  post(5);
  put_header(TmhOp::FIN);
  send(kRequest);
  EXPECT_THAT(heard_of(kServer),
              ElementsAre(said(CqeOpcode::RESP_SEND, CqeAppOp::TM_NO_TAG, 0, kRequest)));
}

TEST_F(TagMatching, MessagesShorterThanAHeader_HaveNoTag) {
  append(0, 0, 0);
  post(5);
  post(6);
  put_header(TmhOp::EAGER);
  send(kHeader - 1);
  send(0);
  EXPECT_THAT(heard_of(kServer),
              ElementsAre(said(CqeOpcode::RESP_SEND, CqeAppOp::TM_NO_TAG, 0, kHeader - 1),
                          said(CqeOpcode::RESP_SEND, CqeAppOp::TM_NO_TAG, 0, 0)));
}

TEST_F(TagMatching, WriteWithImmediate_TakesAReceiveAndSaysNothingOfTags) {
  const std::uint32_t rkey = host.make_key(target, access::kRemoteWrite | access::kLocalWrite);
  post(5);
  host.post_rdma(kClient, WqeOpcode::RDMA_WRITE_IMM,
                 {.raddr = address_of(target),
                  .rkey = rkey,
                  .lkey = lkey_source,
                  .address = address_of(source),
                  .length = 10,
                  .signaled = false},
                 1);
  host.ring(kClient);
  host.run();
  const std::vector<Cqe> all = host.drain_cq();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].opcode, CqeOpcode::RESP_WR_IMM);
  EXPECT_EQ(said_by(all[0]).app, 0U);
}

// ---- changes of the list ----

TEST_F(TagMatching, AppendThatAsksForIt_Completes) {
  append(0, kTag, ~0ULL, kRoom, prm::kTmCqeReq);
  const std::vector<Cqe> all = host.drain_cq();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].opcode, CqeOpcode::NO_PACKET);
  EXPECT_EQ(all[0].user_index, kUserIndex);
  EXPECT_EQ(said_by(all[0]).op, CqeAppOp::TM_APPEND);
  EXPECT_EQ(prm::ConstView<prm::mlx5_tm_cqe>::at(all[0].bytes).get<"hw_phase_cnt">(), 0U);
  EXPECT_EQ(host.query_xrq(xrq).get<"tag_matching_topology_context.append_next_index">(), 1U);
}

TEST_F(TagMatching, AppendThatDoesNotAsk_IsSilent) {
  append(0);
  EXPECT_THAT(host.drain_cq(), IsEmpty());
}

TEST_F(TagMatching, Removed_IsSaidToBeAndMatchesNoMore) {
  append(0);
  remove(0);
  const std::vector<Cqe> all = host.drain_cq();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(said_by(all[0]).op, CqeAppOp::TM_REMOVE);
  EXPECT_EQ(prm::ConstView<prm::mlx5_tm_cqe>::at(all[0].bytes).get<"success">(), prm::kTmcSuccess);
  post(5);
  send_eager(10);
  ASSERT_THAT(heard_of(kServer), SizeIs(1));
  EXPECT_TRUE(is_untouched(0));
}

TEST_F(TagMatching, RemovedAfterItMatched_IsSaidToHaveFailed) {
  append(0);
  send_eager(10);
  EXPECT_THAT(host.drain_cq(), SizeIs(1));
  remove(0);
  const std::vector<Cqe> all = host.drain_cq();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(said_by(all[0]).op, CqeAppOp::TM_REMOVE);
  EXPECT_EQ(prm::ConstView<prm::mlx5_tm_cqe>::at(all[0].bytes).get<"success">(), 0U);
}

TEST_F(TagMatching, AppendedAfterAnUnexpectedMessage_WaitsForTheCountAndIsToldOfIt) {
  post(5);
  send_eager(10);
  EXPECT_THAT(host.drain_cq(), SizeIs(1));
  append(0, kTag, ~0ULL, kRoom, prm::kTmCqeReq);
  std::vector<Cqe> all = host.drain_cq();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(prm::ConstView<prm::mlx5_tm_cqe>::at(all[0].bytes).get<"hw_phase_cnt">(), 1U);
  post(6);
  send_eager(10);
  EXPECT_THAT(heard_of(kServer),
              ElementsAre(said(CqeOpcode::RESP_SEND, CqeAppOp::TM_UNEXPECTED, 0, kHeader + 10)));
}

TEST_F(TagMatching, SynchronizedCount_LetsNewEntriesMatch) {
  post(5);
  send_eager(10);
  append(0);
  EXPECT_THAT(host.drain_cq(), SizeIs(1));
  synchronize(1);
  const std::vector<Cqe> all = host.drain_cq();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(said_by(all[0]).op, CqeAppOp::TM_NOOP);
  EXPECT_EQ(host.query_xrq(xrq).get<"tag_matching_topology_context.sw_phase_cnt">(), 1U);
  send_eager(10);
  EXPECT_THAT(heard_of(kServer),
              ElementsAre(with_tag(said(CqeOpcode::RESP_SEND, CqeAppOp::TM_CONSUMED_MSG, 0, 10))));
}

TEST_F(TagMatching, CountThatComesWithAnEntry_HoldsForIt) {
  post(5);
  send_eager(10);
  append(0, kTag, ~0ULL, kRoom, prm::kTmSwCnt, 1);
  EXPECT_THAT(host.drain_cq(), SizeIs(1));
  send_eager(10);
  EXPECT_THAT(heard_of(kServer), SizeIs(1));
  EXPECT_TRUE(has_arrived(0, kHeader, 10));
}

TEST_F(TagMatching, ListThatHasNoRoom_EndsTheCommandInError) {
  for (std::uint16_t i = 0; i < 7; ++i) append(i);
  std::vector<std::byte> last = segment(TmOpcode::APPEND, 8, 0, 0);
  last.resize(last.size() + prm::mlx5_wqe_data_seg::bytes);
  command(last);
  const std::vector<Cqe> all = host.drain_cq();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].opcode, CqeOpcode::REQ_ERR);
  EXPECT_EQ(all[0].syndrome, CqeSyndrome::LOCAL_QP_OP_ERR);
  EXPECT_EQ(host.state(kCommand), prm::QpState::ERR);
}

TEST_F(TagMatching, OperationThatIsNone_EndsTheCommandInError) {
  command(segment(TmOpcode{9}, 0, prm::kTmCqeReq, 0));
  const std::vector<Cqe> all = host.drain_cq();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].syndrome, CqeSyndrome::LOCAL_QP_OP_ERR);
}

TEST_F(TagMatching, CommandThatEndsBeforeItsBuffer_IsMalformed) {
  command(segment(TmOpcode::APPEND, 1, 0, 0));
  const std::vector<Cqe> all = host.drain_cq();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].syndrome, CqeSyndrome::LOCAL_QP_OP_ERR);
}

TEST_F(TagMatching, CommandOfAQueuePairWithoutAList_IsNone) {
  command(segment(TmOpcode::NOP, 0, prm::kTmCqeReq, 0), kClient);
  const std::vector<Cqe> all = host.drain_cq();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].qpn, kClient);
  EXPECT_EQ(all[0].syndrome, CqeSyndrome::LOCAL_QP_OP_ERR);
}

TEST_F(TagMatchingAlone, ErrorInTheMiddleOfAnEagerMessage_EndsItsEntry) {
  append(0);
  put_header(TmhOp::EAGER);
  send_packet(BthOpcode::SendFirst, kPsn, 0, kMtu);
  EXPECT_THAT(heard_of(kAlone),
              ElementsAre(with_tag(said(CqeOpcode::NO_PACKET, CqeAppOp::TM_CONSUMED, 0, 0))));
  ASSERT_TRUE(host.modify(kAlone, QpTransition::ToErr).ok());
  EXPECT_THAT(heard_of(kAlone), ElementsAre(canceled()));
  send_packet(BthOpcode::SendLast, kPsn + 1, kMtu, 10);
  EXPECT_EQ(place(0, kMtu).back(), std::byte{0});
}

TEST_F(TagMatchingAlone, SameMessageAgain_IsAcknowledgedAndMatchesNoSecondEntry) {
  append(0);
  append(1);
  put_header(TmhOp::EAGER);
  send_packet(BthOpcode::SendOnly, kPsn, 0, kHeader + 10);
  send_packet(BthOpcode::SendOnly, kPsn, 0, kHeader + 10);
  EXPECT_THAT(heard_of(kAlone), SizeIs(1));
  EXPECT_TRUE(is_untouched(1));
}

}  // namespace
}  // namespace portcullis::model::testing
