// SPDX-License-Identifier: BSD-3-Clause
//
// The bytes of every QP command, against messages built from the installed mlx5_ifc.h. Which fields
// and optional-parameter bits a transition carries is as in drivers/infiniband/hw/mlx5/qp.c
// (__mlx5_ib_modify_qp, mlx5_set_path, opt_mask), for the attribute masks that verbs programs use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/cells.hpp"
#include "tests/pmd/object_rig.hpp"

namespace portcullis::testing {
namespace {

using pmd::Access;
using pmd::Gid;
using pmd::Mac;
using ::testing::HasSubstr;

constexpr Access kWriteAndRead{.remote_write = true, .remote_read = true};

struct QueuePairCommands : ::testing::Test, QueueRig {
  /// What __mlx5_ib_modify_qp sets for every transition with a context.
  static IfcMessage transition(const std::string& layout, unsigned opcode) {
    return IfcMessage(layout, 272)
        .put("opcode", opcode)
        .put("qpn", kQpn)
        .put("qpc.st", 0)        // MLX5_QP_ST_RC
        .put("qpc.pm_state", 3)  // MLX5_QP_PM_MIGRATED
        .put("qpc.pd", kPdn)
        .put("qpc.cqn_snd", kCqn)
        .put("qpc.cqn_rcv", kCqn)
        .put("qpc.log_ack_req_freq", 8);  // MLX5_IB_ACK_REQ_FREQ
  }
};

TEST_F(QueuePairCommands, CreateDescribesASendQueueAndNoReceiveQueue) {
  const auto created = sent(kCreateQp);
  const std::vector<std::byte> bytes(created.begin(), created.end());
  EXPECT_EQ(bytes, IfcMessage("create_qp_in", 272)
                       .put("opcode", kCreateQp)
                       .put("qpc.st", 0)
                       .put("qpc.pm_state", 3)
                       .put("qpc.pd", kPdn)
                       .put("qpc.rq_type", 3)  // MLX5_ZERO_LEN_RQ
                       .put("qpc.log_sq_size", 4)
                       .put("qpc.uar_page", kUarIndex)
                       .put("qpc.log_page_size", 0)
                       .put("qpc.cqn_snd", kCqn)
                       .put("qpc.cqn_rcv", kCqn)
                       .put("qpc.dbr_addr", IfcMessage::read("create_qp_in.qpc.dbr_addr", created))
                       .append(big_endian(created.last<8>()))
                       .bytes());
  EXPECT_EQ(qp.number(), prm::QpNumber{kQpn});
}

TEST_F(QueuePairCommands, TimestampFormatFollowsTheCapability) {
  context.caps.qp_ts_format = 1;
  channel.answer(kCreateQp, IfcMessage("create_qp_out", 16).put("qpn", kQpn + 1));
  auto large = pmd::CompletionQueue::create(context, page, kEqn, 6).value();
  const auto other = pmd::QueuePair::create(context, domain, large, page, {6}).value();
  EXPECT_EQ(IfcMessage::read("create_qp_in.qpc.ts_format", channel.last()), 1u);
}

TEST_F(QueuePairCommands, ToInitCarriesPortAndRights) {
  ASSERT_TRUE(qp.to_init(kWriteAndRead));
  EXPECT_EQ(channel.last(), transition("rst2init_qp_in", kRst2Init)
                                .put("qpc.primary_address_path.vhca_port_num", 1)
                                .put("qpc.rwe", 1)
                                .put("qpc.rre", 1)
                                .bytes());
}

TEST_F(QueuePairCommands, AtomicRightNeedsItsMode) {
  ASSERT_TRUE(qp.to_init({.remote_atomic = true}));
  EXPECT_EQ(channel.last(), transition("rst2init_qp_in", kRst2Init)
                                .put("qpc.primary_address_path.vhca_port_num", 1)
                                .put("qpc.rae", 1)
                                .put("qpc.atomic_mode", 1)  // MLX5_QPC_ATOMIC_MODE_IB_SPEC
                                .bytes());
}

TEST_F(QueuePairCommands, ToRtrCarriesThePathAndRepeatsTheRights) {
  ASSERT_TRUE(qp.to_init(kWriteAndRead));
  pmd::RtrAttributes attributes;
  attributes.path.remote_gid = Gid::from_ipv4(10, 0, 0, 9);
  attributes.path.remote_mac = Mac{{0x02, 0x11, 0x22, 0x33, 0x44, 0x55}};
  attributes.path.source_address_index = 5;
  attributes.path.hop_limit = 3;
  attributes.path.traffic_class = 0x6a;
  attributes.path.flow_label = 0x12345;
  attributes.path.priority = 6;
  attributes.remote_qpn = prm::QpNumber{0x777};
  attributes.rq_psn = 0xabcdef;
  attributes.mtu = prm::QpcMtu::MTU_2048;
  attributes.min_rnr_nak = 12;
  attributes.max_dest_rd_atomic = 16;
  ASSERT_TRUE(qp.to_rtr(attributes));
  EXPECT_EQ(channel.last(),
            transition("init2rtr_qp_in", kInit2Rtr)
                .put("opt_param_mask", 1 << 1 | 1 << 2)  // RRE, RAE
                .put("qpc.rwe", 1)
                .put("qpc.rre", 1)
                .put("qpc.mtu", 4)
                .put("qpc.log_msg_max", 30)
                .put("qpc.remote_qpn", 0x777)
                .put("qpc.next_rcv_psn", 0xabcdef)
                .put("qpc.min_rnr_nak", 12)
                .put("qpc.log_rra_max", 4)
                .put("qpc.primary_address_path.rmac_47_32", 0x0211)
                .put("qpc.primary_address_path.rmac_31_0", 0x22334455)
                .put("qpc.primary_address_path.udp_sport", 0xc000 | (0x2345 ^ 0x4))
                .put("qpc.primary_address_path.eth_prio", 6)
                .put("qpc.primary_address_path.dscp", 0x6a >> 2)
                .put("qpc.primary_address_path.src_addr_index", 5)
                .put("qpc.primary_address_path.hop_limit", 3)
                .put("qpc.primary_address_path.tclass", 0x6a)
                .put("qpc.primary_address_path.flow_label", 0x12345)
                .put("qpc.primary_address_path.rgid_rip", Gid::from_ipv4(10, 0, 0, 9).bytes)
                .put("qpc.primary_address_path.vhca_port_num", 1)
                .bytes());
}

TEST_F(QueuePairCommands, ToRtrOnAnInfiniBandPort_CarriesTheLidAndNothingOfRoce) {
  context.caps.port_type = 0;
  pmd::RtrAttributes attributes;
  attributes.path.remote_gid = Gid::from_ipv4(10, 0, 0, 9);
  attributes.path.remote_mac = Mac{{0x02, 0x11, 0x22, 0x33, 0x44, 0x55}};
  attributes.path.remote_lid = 0x4321;
  ASSERT_TRUE(qp.to_rtr(attributes));
  const auto read = [this](const std::string& field) {
    return IfcMessage::read("init2rtr_qp_in.qpc.primary_address_path." + field, channel.last());
  };
  EXPECT_EQ(read("rlid"), 0x4321u);
  EXPECT_EQ(read("vhca_port_num"), 1u);
  for (const char* field : {"rmac_47_32", "rmac_31_0", "udp_sport", "hop_limit", "eth_prio"})
    EXPECT_EQ(read(field), 0u) << field;
}

TEST_F(QueuePairCommands, ToRtsCarriesTimersAndPsn) {
  ASSERT_TRUE(qp.to_rts(
      {.sq_psn = 0x123456, .timeout = 14, .retry_count = 7, .rnr_retry = 6, .max_rd_atomic = 1}));
  EXPECT_EQ(channel.last(), transition("rtr2rts_qp_in", kRtr2Rts)
                                .put("qpc.primary_address_path.ack_timeout", 14)
                                .put("qpc.retry_count", 7)
                                .put("qpc.rnr_retry", 6)
                                .put("qpc.next_send_psn", 0x123456)
                                .put("qpc.log_sra_max", 0)
                                .bytes());
}

TEST_F(QueuePairCommands, ChangeAccessReplacesAllThreeRights) {
  ASSERT_TRUE(qp.change_access({}));
  EXPECT_EQ(channel.last(), transition("rts2rts_qp_in", kRts2Rts)
                                .put("opt_param_mask", 1 << 1 | 1 << 2 | 1 << 3)  // RRE, RAE, RWE
                                .bytes());
}

TEST_F(QueuePairCommands, ChangeAccessInInit_ReplacesAllThreeRights_AndRtrRepeatsThem) {
  ASSERT_TRUE(qp.to_init({}));
  ASSERT_TRUE(qp.change_access_in_init(kWriteAndRead));
  EXPECT_EQ(channel.last(), transition("init2init_qp_in", kInit2Init)
                                .put("opt_param_mask", 1 << 1 | 1 << 2 | 1 << 3)
                                .put("qpc.rwe", 1)
                                .put("qpc.rre", 1)
                                .bytes());
  ASSERT_TRUE(qp.to_rtr({}));
  EXPECT_EQ(IfcMessage::read("init2rtr_qp_in.qpc.rre", channel.last()), 1u);
}

TEST_F(QueuePairCommands, DepthOfReads_UpToWhatTheFunctionHas) {
  pmd::RtrAttributes rtr;
  rtr.max_dest_rd_atomic = 16;
  EXPECT_TRUE(qp.to_rtr(rtr));
  rtr.max_dest_rd_atomic = 17;
  EXPECT_EQ(qp.to_rtr(rtr).error().text, "max_dest_rd_atomic 17; at most 16");
  context.caps.log_max_ra_res_qp = 63;  // more than anybody has, and all that six bits can say
  EXPECT_TRUE(qp.to_rtr(rtr));
}

TEST_F(QueuePairCommands, CounterSet_IsBoundInInit) {
  context.caps.log_max_cq_sz = 6;
  auto large = pmd::CompletionQueue::create(context, page, kEqn, 6).value();
  channel.answer(kCreateQp, IfcMessage("create_qp_out", 16).put("qpn", kQpn + 1));
  auto counted =
      pmd::QueuePair::create(context, domain, large, page, {.log_sq_size = 2, .counter_set = 0x2a})
          .value();
  ASSERT_TRUE(counted.to_init({}));
  EXPECT_EQ(IfcMessage::read("rst2init_qp_in.qpc.counter_set_id", channel.last()), 0x2au);
}

TEST_F(QueuePairCommands, OneThatSendsNothing_HasNoSendQueueAndRefusesToPost) {
  channel.answer(kCreateQp, IfcMessage("create_qp_out", 16).put("qpn", kQpn + 1));
  auto responder =
      pmd::QueuePair::create(context, domain, cq, page, {.log_sq_size = 15, .sends = false})
          .value();
  EXPECT_EQ(IfcMessage::read("create_qp_in.qpc.no_sq", channel.last()), 1u);
  EXPECT_EQ(IfcMessage::read("create_qp_in.qpc.log_sq_size", channel.last()), 0u);
  EXPECT_EQ(responder.outstanding_blocks(), 0u);
  const auto refused = responder.post_write_inline(std::array<std::byte, 8>{}, {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, ::testing::HasSubstr("this send queue has 0 in all"));
}

TEST_F(QueuePairCommands, ReceiveQueuesRecord_IsNamedAgainInInit) {
  auto large = pmd::CompletionQueue::create(context, page, kEqn, 6).value();
  channel.answer(kCreateQp, IfcMessage("create_qp_out", 16).put("qpn", kQpn + 1));
  auto receiver =
      pmd::QueuePair::create(context, domain, large, page, {.log_sq_size = 2, .log_rq_size = 2})
          .value();
  const auto created = IfcMessage::read("create_qp_in.qpc.dbr_addr", channel.last());
  ASSERT_TRUE(receiver.to_init({}));
  EXPECT_EQ(IfcMessage::read("rst2init_qp_in.qpc.dbr_addr", channel.last()), created);
}

TEST_F(QueuePairCommands, PeerWithoutReadsToAnswer_HasNoRightToThem) {
  ASSERT_TRUE(qp.to_init({.remote_write = true, .remote_read = true, .remote_atomic = true}));
  pmd::RtrAttributes attributes;
  attributes.max_dest_rd_atomic = 0;
  ASSERT_TRUE(qp.to_rtr(attributes));
  EXPECT_EQ(IfcMessage::read("init2rtr_qp_in.qpc.rwe", channel.last()), 1u);
  EXPECT_EQ(IfcMessage::read("init2rtr_qp_in.qpc.rre", channel.last()), 0u);
  EXPECT_EQ(IfcMessage::read("init2rtr_qp_in.qpc.rae", channel.last()), 0u);
}

TEST_F(QueuePairCommands, MoreReadsThanTheFunctionHas_AreRefusedUnsent) {
  const auto before = channel.sent.size();
  pmd::RtrAttributes attributes;
  attributes.max_dest_rd_atomic = 17;
  EXPECT_THAT(qp.to_rtr(attributes).error().text, HasSubstr("max_dest_rd_atomic 17; at most 16"));
  EXPECT_THAT(qp.to_rts({.max_rd_atomic = 17}).error().text,
              HasSubstr("max_rd_atomic 17; at most 16"));
  EXPECT_EQ(channel.sent.size(), before);
}

TEST_F(QueuePairCommands, Drain_AsksUntilTheQueueIsDrained) {
  channel.answer(kQueryQp, IfcMessage("query_qp_out", 272).put("qpc.state", 5));  // SQD
  ASSERT_TRUE(qp.drain(now_ns + 1'000'000));
  EXPECT_EQ(channel.sent[channel.sent.size() - 2].in,
            transition("sqd2rts_qp_in", kRts2Sqd).bytes());
  EXPECT_EQ(channel.last(),
            IfcMessage("query_qp_in", 16).put("opcode", kQueryQp).put("qpn", kQpn).bytes());
  ASSERT_TRUE(qp.resume());
  EXPECT_EQ(channel.last(), transition("sqd2rts_qp_in", kSqdRts).bytes());
}

TEST_F(QueuePairCommands, DrainThatDoesNotEnd_TimesOutAtItsDeadline) {
  channel.answer(kQueryQp, IfcMessage("query_qp_out", 272).put("qpc.state", 7));  // SQ_DRAINING
  const std::uint64_t until_ns = now_ns + 1'050'000;  // between two looks
  EXPECT_EQ(qp.drain(until_ns).error().code, Errc::Timeout);
  EXPECT_EQ(now_ns, until_ns);
}

TEST_F(QueuePairCommands, ErrorWhileDraining_IsNoDrainedQueue) {
  channel.answer(kQueryQp, IfcMessage("query_qp_out", 272).put("qpc.state", 6));  // ERR
  EXPECT_THAT(qp.drain(now_ns + 1'000'000).error().text, HasSubstr("state ERR"));
}

TEST_F(QueuePairCommands, RefusedDrain_IsTheDevicesVerdict) {
  channel.fail_with(kRts2Sqd, Errc::CommandFailed);
  EXPECT_EQ(qp.drain(now_ns + 1'000'000).error().code, Errc::CommandFailed);
  EXPECT_EQ(channel.count(kQueryQp), 0u);
}

TEST_F(QueuePairCommands, ErrorAndResetAreInline) {
  ASSERT_TRUE(qp.to_error());
  EXPECT_EQ(channel.last(),
            IfcMessage("qp_2err_in", 16).put("opcode", k2Err).put("qpn", kQpn).bytes());
  ASSERT_TRUE(qp.to_reset());
  EXPECT_EQ(channel.last(),
            IfcMessage("qp_2rst_in", 16).put("opcode", k2Rst).put("qpn", kQpn).bytes());
}

TEST_F(QueuePairCommands, QueryReadsTheContext) {
  channel.answer(kQueryQp, IfcMessage("query_qp_out", 272)
                               .put("qpc.state", 3)
                               .put("qpc.rwe", 1)
                               .put("qpc.remote_qpn", 0x777)
                               .put("qpc.next_send_psn", 0x10)
                               .put("qpc.next_rcv_psn", 0x20)
                               .put("qpc.last_acked_psn", 0xf)
                               .put("qpc.pd", kPdn)
                               .put("qpc.mtu", 4)
                               .put("qpc.retry_count", 6)
                               .put("qpc.rnr_retry", 5)
                               .put("qpc.cur_retry_count", 4)
                               .put("qpc.cur_rnr_retry", 3)
                               .put("qpc.min_rnr_nak", 12)
                               .put("qpc.log_sra_max", 4)
                               .put("qpc.log_rra_max", 3)
                               .put("qpc.counter_set_id", 0x2a)
                               .put("qpc.primary_address_path.ack_timeout", 14));
  const auto state = qp.query().value();
  EXPECT_EQ(state.state, prm::QpState::RTS);
  EXPECT_TRUE(state.access.remote_write);
  EXPECT_FALSE(state.access.remote_read);
  EXPECT_EQ(state.remote_qpn, prm::QpNumber{0x777});
  EXPECT_EQ(state.next_send_psn, 0x10u);
  EXPECT_EQ(state.next_rcv_psn, 0x20u);
  EXPECT_EQ(state.last_acked_psn, 0xfu);
  EXPECT_EQ(state.pdn, prm::PdNumber{kPdn});
  EXPECT_EQ(state.mtu, prm::QpcMtu::MTU_2048);
  EXPECT_EQ(state.retry_count, 6);
  EXPECT_EQ(state.rnr_retry, 5);
  EXPECT_EQ(state.retries_left, 4);
  EXPECT_EQ(state.rnr_retries_left, 3);
  EXPECT_EQ(state.min_rnr_nak, 12);
  EXPECT_EQ(state.max_rd_atomic, 16);
  EXPECT_EQ(state.max_dest_rd_atomic, 8);
  EXPECT_EQ(state.counter_set, 0x2a);
  EXPECT_EQ(state.timeout, 14);
}

TEST_F(QueuePairCommands, ValueTooWideForItsField_IsRefusedUnsent) {
  const auto before = channel.sent.size();
  EXPECT_THAT(qp.to_rts({.retry_count = 8}).error().text, HasSubstr("retry_count"));
  EXPECT_THAT(qp.to_rts({.timeout = 32}).error().text, HasSubstr("ack_timeout"));
  EXPECT_THAT(qp.to_rts({.sq_psn = 0x1000000}).error().text, HasSubstr("next_send_psn"));
  EXPECT_EQ(channel.sent.size(), before);
}

TEST_F(QueuePairCommands, SendQueueLargerThanTheCompletionQueue_IsRefusedUnsent) {
  const auto before = channel.count(kCreateQp);
  const auto second = pmd::QueuePair::create(context, domain, cq, page, {0});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::OutOfResources);
  EXPECT_THAT(second.error().text, HasSubstr("has 0 left"));
  EXPECT_EQ(channel.count(kCreateQp), before);
}

TEST_F(QueuePairCommands, SendQueueLargerThanTheCapability_NamesWhatIsAccepted) {
  context.caps.log_max_qp_sz = 3;
  EXPECT_THAT(pmd::QueuePair::create(context, domain, cq, page, {4}).error().text,
              HasSubstr("at most 2^3"));
}

TEST_F(QueuePairCommands, LargestQueues_AreAccepted) {
  context.caps.log_max_qp_sz = 5;
  auto large = pmd::CompletionQueue::create(context, page, kEqn, 8).value();
  EXPECT_TRUE(pmd::QueuePair::create(context, domain, large, page,
                                     {.log_sq_size = 5,
                                      .log_rq_size = 5,
                                      .log_receive_pieces = pmd::ReceiveQueue::kMostLogPieces}));
}

TEST_F(QueuePairCommands, NumberThatTheDeviceGaveOutTwice_IsRefused) {
  auto large = pmd::CompletionQueue::create(context, page, kEqn, 8).value();
  const auto first = pmd::QueuePair::create(context, domain, large, page, {4}).value();
  EXPECT_THAT(pmd::QueuePair::create(context, domain, large, page, {4}).error().text,
              HasSubstr("twice"));
}

TEST_F(QueuePairCommands, RefusedReset_QueueKeepsWhatWasPosted) {
  ASSERT_TRUE(qp.post_write_inline({}, {}));
  channel.fail_with(k2Rst, Errc::CommandFailed);
  ASSERT_FALSE(qp.to_reset());
  EXPECT_EQ(qp.outstanding_blocks(), 1u);
}

TEST_F(QueuePairCommands, ConfirmedTwice_IsOnce) {
  auto large = pmd::CompletionQueue::create(context, page, kEqn, 5).value();
  auto first = pmd::QueuePair::create(context, domain, large, page, {4}).value();
  first.release();
  first.confirm_destroyed();
  auto second = pmd::QueuePair::create(context, domain, large, page, {4}).value();
  first.confirm_destroyed();
  second.release();
  second.confirm_destroyed();
  EXPECT_TRUE(pmd::QueuePair::create(context, domain, large, page, {5}));
}

TEST_F(QueuePairCommands, DestroyedQueuePair_GivesMemoryAndCompletionEntriesBack) {
  const auto before = arena.bytes_in_use();
  ASSERT_TRUE(qp.destroy());
  EXPECT_EQ(channel.last(),
            IfcMessage("destroy_qp_in", 16).put("opcode", kDestroyQp).put("qpn", kQpn).bytes());
  qp = pmd::QueuePair::create(context, domain, cq, page, {4}).value();
  EXPECT_EQ(arena.bytes_in_use(), before);
}

TEST_F(QueuePairCommands, QueuePairWithoutQueues_TakesNoPageOfItsOwn) {
  ASSERT_TRUE(qp.destroy());                      // the rig gives every queue pair the same number
  const auto with_a_page = arena.bytes_in_use();  // of the send queue, kept until it is replaced
  qp = pmd::QueuePair::create(context, domain, cq, page, {.sends = false}).value();
  EXPECT_EQ(with_a_page - arena.bytes_in_use(), kPageBytes);
  std::uint64_t named = 0;  // the last of the command
  const auto& sent = channel.last();
  std::memcpy(&named, sent.data() + sent.size() - sizeof named, sizeof named);
  EXPECT_EQ(cells::be64(named) % kPageBytes, 0U);
}

TEST_F(QueuePairCommands, RefusedCreateQp_GivesItsMemoryBack) {
  const auto before = arena.bytes_in_use();
  auto large = pmd::CompletionQueue::create(context, page, kEqn, 6).value();
  const auto with_ring = arena.bytes_in_use();
  channel.fail_with(kCreateQp, Errc::CommandFailed);
  EXPECT_EQ(pmd::QueuePair::create(context, domain, large, page, {4}).error().code,
            Errc::CommandFailed);
  EXPECT_EQ(arena.bytes_in_use(), with_ring);
  EXPECT_GT(with_ring, before);
}

/// The device may have it, and then it reads its queue.
TEST_F(QueuePairCommands, CreateQpThatIsNotAnswered_KeepsItsMemoryForEver) {
  auto large = pmd::CompletionQueue::create(context, page, kEqn, 6).value();
  const auto before = arena.bytes_in_use();
  channel.fail_with(kCreateQp, Errc::Timeout);
  EXPECT_EQ(pmd::QueuePair::create(context, domain, large, page, {4}).error().code, Errc::Timeout);
  EXPECT_GT(arena.bytes_in_use(), before);
}

TEST_F(QueuePairCommands, RefusedDestroyQp_KeepsMemoryAndCompletionEntriesForEver) {
  const auto before = arena.bytes_in_use();
  channel.fail_with(kDestroyQp, Errc::Timeout);
  EXPECT_EQ(qp.destroy().error().code, Errc::Timeout);
  { const auto gone = std::move(qp); }
  EXPECT_EQ(channel.count(kDestroyQp), 1u);
  EXPECT_EQ(arena.bytes_in_use(), before);
  EXPECT_FALSE(pmd::QueuePair::create(context, domain, cq, page, {4}));
}

TEST_F(QueuePairCommands, ReleasedAndConfirmed_GivesMemoryBackWithoutACommand) {
  const auto before = arena.bytes_in_use();
  EXPECT_EQ(qp.release(), prm::QpNumber{kQpn});
  qp.confirm_destroyed();
  { const auto gone = std::move(qp); }
  EXPECT_LT(arena.bytes_in_use(), before);
  EXPECT_EQ(channel.count(kDestroyQp), 0u);
}

TEST_F(QueuePairCommands, ReleasedAndNeverConfirmed_KeepsItsMemoryForEver) {
  const auto before = arena.bytes_in_use();
  qp.release();
  { const auto gone = std::move(qp); }
  EXPECT_EQ(arena.bytes_in_use(), before);
  EXPECT_EQ(channel.count(kDestroyQp), 0u);
}

// ---- moves ----

struct ReplacedQueuePairs : QueuePairCommands {
  /// Before the completion queue that it may have come to.
  void TearDown() override { const auto gone = std::move(qp); }
  /// Of another channel, domain, completion queue, service and counter set.
  pmd::QueuePair make_other() {
    other_context.commands = &other_channel;
    other_channel.answer(kCreateQp, IfcMessage("create_qp_out", 16).put("qpn", kQpn + 1));
    channel.answer(kAllocPd, IfcMessage("alloc_pd_out", 16).put("pd", kPdn + 1));
    channel.answer(kCreateCq, IfcMessage("create_cq_out", 16).put("cqn", kCqn + 1));
    other_domain.emplace(pd());
    other_cq.emplace(pmd::CompletionQueue::create(context, page, kEqn, 4).value());
    return pmd::QueuePair::create(
               other_context, *other_domain, *other_cq, page,
               {.log_sq_size = 4, .counter_set = 9, .service = prm::QpServiceType::REG_UMR})
        .value();
  }
  RecordingChannel other_channel;
  pmd::Context other_context = context;
  std::optional<pmd::ProtectionDomain> other_domain;
  std::optional<pmd::CompletionQueue> other_cq;
};

TEST_F(ReplacedQueuePairs, ByAnother_IsThatInEverything) {
  auto other = make_other();
  ASSERT_TRUE(other.to_init({.remote_write = true}));
  qp = std::move(other);
  EXPECT_EQ(channel.count(kDestroyQp), 1u);
  EXPECT_EQ(qp.number(), prm::QpNumber{kQpn + 1});
  ASSERT_TRUE(qp.to_rtr({}));
  const auto rtr = other_channel.last();
  EXPECT_EQ(other_channel.count(kInit2Rtr), 1u);
  EXPECT_EQ(IfcMessage::read("init2rtr_qp_in.qpc.rwe", rtr), 1u);
  EXPECT_EQ(IfcMessage::read("init2rtr_qp_in.qpc.st", rtr), 0xcu);  // MLX5_QP_ST_REG_UMR
  EXPECT_EQ(IfcMessage::read("init2rtr_qp_in.qpc.pd", rtr), kPdn + 1);
  EXPECT_EQ(IfcMessage::read("init2rtr_qp_in.qpc.cqn_snd", rtr), kCqn + 1);
  ASSERT_TRUE(qp.to_init({}));
  EXPECT_EQ(IfcMessage::read("rst2init_qp_in.qpc.counter_set_id", other_channel.last()), 9u);
}

TEST_F(ReplacedQueuePairs, ByAnother_ItsOwnCompletionQueueHasRoomAgain) {
  qp = make_other();
  EXPECT_TRUE(pmd::QueuePair::create(context, domain, cq, page, {4}));
}

TEST_F(ReplacedQueuePairs, WhenItIsDestroyed_TheOthersCompletionQueueHasRoomAgain) {
  qp = make_other();
  ASSERT_TRUE(qp.destroy());
  EXPECT_EQ(other_channel.count(kDestroyQp), 1u);
  EXPECT_TRUE(pmd::QueuePair::create(other_context, *other_domain, *other_cq, page, {4}));
}

TEST_F(ReplacedQueuePairs, ByOneThatIsGone_LeavesNoMemoryBehind) {
  const auto before = arena.bytes_in_use();
  {
    auto other = make_other();
    const auto with_both = arena.bytes_in_use();
    ASSERT_TRUE(other.destroy());
    qp = std::move(other);
    EXPECT_LT(arena.bytes_in_use(), with_both);
    const auto gone = std::move(qp);
  }
  other_cq.reset();
  EXPECT_LT(arena.bytes_in_use(), before);
}

}  // namespace
}  // namespace portcullis::testing
