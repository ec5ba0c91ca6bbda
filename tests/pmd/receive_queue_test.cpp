// SPDX-License-Identifier: BSD-3-Clause
//
// Receive WQEs and the receive half of the doorbell record, against what mlx5_post_recv of
// rdma-core writes; what CREATE_QP says of the queue; and the completions of receives, opcode by
// opcode as handle_responder of rdma-core reads them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pmd/verbs_wqe.hpp"

namespace portcullis::testing {
namespace {

using pmd::Completion;
using pmd::GatherEntry;
using ::testing::HasSubstr;

constexpr std::uint32_t kLogReceives = 3;
constexpr std::uint32_t kLogPieces = 2;
constexpr std::size_t kWqeBytes = 16u << kLogPieces;

struct Receives : ::testing::Test, QueueRig {
  Receives() : QueueRig({4, kLogReceives, kLogPieces}, 5) {}

  std::byte* ring() { return send_ring(); }
  std::uint64_t counted() { return big_endian({send_record(), 4}); }
  std::vector<std::byte> wqe(std::size_t index) {
    return {ring() + index * kWqeBytes, ring() + (index + 1) * kWqeBytes};
  }
  /// The device writes the next entry.
  void produce(mlx5_cqe64 cqe, std::uint8_t opcode) {
    std::byte* at = completion_ring();
    cqe.sop_drop_qpn = htobe32(kQpn);
    cqe.op_own = static_cast<std::uint8_t>(std::uint32_t{opcode} << 4 | (produced / 32 % 2));
    std::memcpy(at + produced % 32 * sizeof cqe, &cqe, sizeof cqe);
    ++produced;
  }
  void produce(std::uint16_t counter, std::uint8_t opcode, std::uint32_t bytes,
               std::uint32_t immediate = 0) {
    mlx5_cqe64 cqe{};
    cqe.wqe_counter = htobe16(counter);
    cqe.byte_cnt = htobe32(bytes);
    cqe.imm_inval_pkey = htobe32(immediate);
    produce(cqe, opcode);
  }
  Completion take() { return cq.try_poll().value().value(); }
  void expect_broken(const std::string& reason) {
    const auto polled = cq.try_poll();
    ASSERT_FALSE(polled);
    EXPECT_EQ(polled.error().code, Errc::Malformed);
    EXPECT_THAT(polled.error().text, HasSubstr(reason));
  }

  std::uint32_t produced = 0;
};

/// Data segments as mlx5_post_recv leaves them, one WQE long.
std::vector<std::byte> scatter(const std::vector<GatherEntry>& pieces, bool ended) {
  std::vector<std::byte> bytes;
  const auto append = [&](const GatherEntry& entry) {
    mlx5_wqe_data_seg segment{};
    mlx5dv_set_data_seg(&segment, entry.bytes, entry.lkey, entry.address);
    const auto raw = std::bit_cast<std::array<std::byte, sizeof segment>>(segment);
    bytes.insert(bytes.end(), raw.begin(), raw.end());
  };
  for (const GatherEntry& piece : pieces) append(piece);
  if (ended) append({0, MLX5_INVALID_LKEY, 0});
  return bytes;
}

TEST_F(Receives, CreateTellsSizeAndStride_AndTheSendQueueBehindIt) {
  const auto created = sent(kCreateQp);
  EXPECT_EQ(IfcMessage::read("create_qp_in.qpc.rq_type", created), 0u);  // MLX5_NON_ZERO_RQ
  EXPECT_EQ(IfcMessage::read("create_qp_in.qpc.log_rq_size", created), kLogReceives);
  EXPECT_EQ(IfcMessage::read("create_qp_in.qpc.log_rq_stride", created), kLogPieces);
  ASSERT_TRUE(qp.post_write(GatherEntry{0x1000, 1, 8}, {}));
  const std::size_t send_at = (std::size_t{1} << kLogReceives) * kWqeBytes;
  EXPECT_EQ(ring()[send_at + 3], std::byte{MLX5_OPCODE_RDMA_WRITE});
}

TEST_F(Receives, TinyQueue_IsMadeABasicBlockLarge_AndSaysSo) {
  context.caps.log_max_qp_sz = 15;
  channel.answer(kCreateQp, IfcMessage("create_qp_out", 16).put("qpn", kQpn + 1));
  auto tiny = pmd::QueuePair::create(context, domain, cq, page, {2, 0, 0}).value();
  ASSERT_TRUE(tiny.post_write(GatherEntry{0x1000, 1, 8}, {}));
  const std::byte* at = memory_at(big_endian(std::span(channel.last()).last<8>()));
  EXPECT_EQ(at[64 + 3], std::byte{MLX5_OPCODE_RDMA_WRITE});
  EXPECT_EQ(IfcMessage::read("create_qp_in.qpc.log_rq_size", channel.last()), 2u);
  EXPECT_EQ(IfcMessage::read("create_qp_in.qpc.log_rq_stride", channel.last()), 0u);
}

TEST_F(Receives, ShortList_IsEndedByTheInvalidKey) {
  std::fill_n(ring(), kWqeBytes, std::byte{0xee});
  const std::vector<GatherEntry> pieces{{0xdeadbeef00112233, 0x55667788, 100}, {0x2000, 2, 7}};
  ASSERT_TRUE(qp.post_receive(pieces, 1));
  const auto expected = scatter(pieces, true);
  EXPECT_EQ(std::vector<std::byte>(ring(), ring() + expected.size()), expected);
}

TEST_F(Receives, FullList_HasNoEnd) {
  const std::vector<GatherEntry> pieces{{1, 1, 1}, {2, 2, 2}, {3, 3, 3}, {4, 4, 4}};
  ASSERT_TRUE(qp.post_receive(pieces, 1));
  EXPECT_EQ(wqe(0), scatter(pieces, false));
}

TEST_F(Receives, EmptyPieces_AreLeftOut) {
  const std::vector<GatherEntry> pieces{{9, 9, 0}, {1, 1, 1}, {9, 9, 0}};
  ASSERT_TRUE(qp.post_receive(pieces, 1));
  const auto expected = scatter({{1, 1, 1}}, true);
  EXPECT_EQ(std::vector<std::byte>(ring(), ring() + expected.size()), expected);
}

TEST_F(Receives, RecordCountsWqes_OnceRung) {
  ASSERT_TRUE(qp.post_receive(GatherEntry{1, 1, 1}, 1));
  ASSERT_TRUE(qp.post_receive(GatherEntry{1, 1, 1}, 2));
  EXPECT_EQ(counted(), 0u);
  qp.ring_receives();
  EXPECT_EQ(counted(), 2u);
  EXPECT_EQ(qp.outstanding_receives(), 2u);
}

TEST_F(Receives, FullQueue_IsBusyUntilACompletion) {
  for (std::uint64_t i = 0; i < 8; ++i) ASSERT_TRUE(qp.post_receive(GatherEntry{1, 1, 64}, i));
  EXPECT_EQ(qp.post_receive(GatherEntry{1, 1, 1}, 9).error().code, Errc::Busy);
  produce(0, MLX5_CQE_RESP_SEND, 3);
  take();
  EXPECT_TRUE(qp.post_receive(GatherEntry{5, 5, 5}, 9));
  EXPECT_EQ(big_endian({ring(), 4}), 5u);  // over the first
}

TEST_F(Receives, ResetQueue_StartsFromItsFirstWqe) {
  ASSERT_TRUE(qp.post_receive(GatherEntry{1, 1, 1}, 1));
  qp.ring_receives();
  ASSERT_TRUE(qp.to_reset());
  EXPECT_EQ(counted(), 0u);
  EXPECT_EQ(qp.outstanding_receives(), 0u);
}

TEST_F(Receives, WhatNoWqeCanHold_IsRefused) {
  EXPECT_THAT(qp.post_receive(std::vector<GatherEntry>(5), 1).error().text, HasSubstr("at most 4"));
  EXPECT_EQ(qp.post_receive(GatherEntry{1, 1, 1u << 31}, 1).error().code, Errc::InvalidArgument);
  EXPECT_EQ(qp.outstanding_receives(), 0u);
}

struct WithoutReceiveQueue : ::testing::Test, QueueRig {};

TEST_F(WithoutReceiveQueue, PostReceive_IsUnsupported) {
  EXPECT_EQ(qp.post_receive(GatherEntry{1, 1, 1}, 1).error().code, Errc::Unsupported);
}

TEST_F(Receives, QueuesLargerThanTheirMemory_AreRefused) {
  EXPECT_THAT(pmd::QueuePair::create(context, domain, cq, page, {15, 0, 0}).error().text,
              HasSubstr("2097216 bytes together; at most 2097152"));
  EXPECT_THAT(pmd::QueuePair::create(context, domain, cq, page, {4, 16, 0}).error().text,
              HasSubstr("at most 2^15"));
  EXPECT_THAT(pmd::QueuePair::create(context, domain, cq, page, {4, 2, 6}).error().text,
              HasSubstr("at most 2^5"));
}

// ---- completions ----

TEST_F(Receives, SendArrived_TellsBytesAndRequest) {
  ASSERT_TRUE(qp.post_receive(GatherEntry{1, 1, 100}, 4711));
  produce(0, MLX5_CQE_RESP_SEND, 37);
  const Completion done = take();
  EXPECT_TRUE(done.ok());
  EXPECT_EQ(static_cast<int>(done.opcode), IBV_WC_RECV);
  EXPECT_EQ(done.wr_id, 4711u);
  EXPECT_EQ(done.qpn, prm::QpNumber{kQpn});
  EXPECT_EQ(done.byte_count, 37u);
  EXPECT_FALSE(done.has_immediate || done.has_invalidated);
}

TEST_F(Receives, SendWithImmediate_TellsIt) {
  ASSERT_TRUE(qp.post_receive(GatherEntry{1, 1, 100}, 1));
  produce(0, MLX5_CQE_RESP_SEND_IMM, 100, 0x01020304);
  const Completion done = take();
  EXPECT_EQ(static_cast<int>(done.opcode), IBV_WC_RECV);
  EXPECT_TRUE(done.has_immediate);
  EXPECT_EQ(done.immediate, 0x01020304u);
}

TEST_F(Receives, SendWithInvalidate_TellsTheKey) {
  ASSERT_TRUE(qp.post_receive(GatherEntry{1, 1, 100}, 1));
  produce(0, MLX5_CQE_RESP_SEND_INV, 0, 0x5678);
  const Completion done = take();
  EXPECT_TRUE(done.has_invalidated);
  EXPECT_FALSE(done.has_immediate);
  EXPECT_EQ(done.immediate, 0x5678u);
}

TEST_F(Receives, WriteWithImmediate_CountsBytesWrittenElsewhere) {
  ASSERT_TRUE(qp.post_receive(std::span<const GatherEntry>(), 1));
  produce(0, MLX5_CQE_RESP_WR_IMM, 5000, 9);
  const Completion done = take();
  EXPECT_EQ(static_cast<int>(done.opcode), IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_EQ(done.byte_count, 5000u);
  EXPECT_EQ(done.immediate, 9u);
}

TEST_F(Receives, SolicitedEntry_IsAReceiveAsAny) {
  ASSERT_TRUE(qp.post_receive(GatherEntry{1, 1, 100}, 1));
  mlx5_cqe64 cqe{};
  produce(cqe, MLX5_CQE_RESP_SEND);
  std::byte* at = completion_ring();
  at[offsetof(mlx5_cqe64, op_own)] |= std::byte{2};
  EXPECT_EQ(static_cast<int>(take().opcode), IBV_WC_RECV);
}

TEST_F(Receives, FlushedReceives_CompleteOneByOne) {
  ASSERT_TRUE(qp.post_receive(GatherEntry{1, 1, 100}, 1));
  ASSERT_TRUE(qp.post_receive(GatherEntry{1, 1, 100}, 2));
  for (std::uint16_t i = 0; i < 2; ++i) {
    mlx5_err_cqe error{};
    error.wqe_counter = htobe16(i);
    error.syndrome = MLX5_CQE_SYNDROME_WR_FLUSH_ERR;
    error.vendor_err_synd = 0x81;
    mlx5_cqe64 cqe{};
    std::memcpy(&cqe, &error, sizeof cqe);
    produce(cqe, MLX5_CQE_RESP_ERR);
  }
  const Completion first = take();
  EXPECT_EQ(static_cast<int>(first.status), IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(first.vendor_syndrome, 0x81);
  EXPECT_EQ(first.wr_id, 1u);
  EXPECT_EQ(take().wr_id, 2u);
  EXPECT_EQ(qp.outstanding_receives(), 0u);
}

TEST_F(Receives, CountersRunThroughSixteenBits) {
  for (std::uint32_t i = 0; i < 0x10003; ++i) {
    ASSERT_TRUE(qp.post_receive(GatherEntry{1, 1, 1}, i));
    produce(static_cast<std::uint16_t>(i), MLX5_CQE_RESP_SEND, 1);
    ASSERT_EQ(take().wr_id, i);
  }
  qp.ring_receives();
  EXPECT_EQ(counted(), 3u);
}

TEST_F(Receives, ReceiveAndSend_ShareTheQueue) {
  ASSERT_TRUE(qp.post_receive(GatherEntry{1, 1, 8}, 1));
  ASSERT_TRUE(qp.post_write(GatherEntry{0x1000, 1, 8}, {.wr_id = 2}));
  produce(0, MLX5_CQE_RESP_SEND, 8);
  mlx5_cqe64 cqe{};
  produce(cqe, MLX5_CQE_REQ);
  std::byte* second = completion_ring() + 64;
  second[offsetof(mlx5_cqe64, sop_drop_qpn)] = std::byte{MLX5_OPCODE_RDMA_WRITE};
  EXPECT_EQ(take().wr_id, 1u);
  EXPECT_EQ(take().wr_id, 2u);
}

TEST_F(Receives, MoreBytesThanTheReceiveHas_IsNotBelieved) {
  ASSERT_TRUE(qp.post_receive(GatherEntry{1, 1, 100}, 1));
  produce(0, MLX5_CQE_RESP_SEND, 101);
  expect_broken("101 bytes received into 100");
}

TEST_F(Receives, CompletionOfNoReceive_IsNotBelieved) {
  produce(0, MLX5_CQE_RESP_SEND, 0);
  expect_broken("receive WQE 0");
}

TEST_F(Receives, CompletionOutOfOrder_IsNotBelieved) {
  ASSERT_TRUE(qp.post_receive(GatherEntry{1, 1, 100}, 1));
  ASSERT_TRUE(qp.post_receive(GatherEntry{1, 1, 100}, 2));
  produce(1, MLX5_CQE_RESP_SEND, 0);
  expect_broken("receive WQE 1");
}

TEST_F(Receives, DataInTheEntryItself_IsNotBelieved) {
  ASSERT_TRUE(qp.post_receive(GatherEntry{1, 1, 100}, 1));
  mlx5_cqe64 cqe{};
  produce(cqe, MLX5_CQE_RESP_SEND);
  std::byte* at = completion_ring();
  at[offsetof(mlx5_cqe64, op_own)] |= std::byte{1 << 2};  // MLX5_INLINE_SCATTER_32 of rdma-core
  expect_broken("format 1");
}

}  // namespace
}  // namespace portcullis::testing
