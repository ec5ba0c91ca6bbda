// SPDX-License-Identifier: BSD-3-Clause
//
// WQEs in memory against WQEs that rdma-core's inline helpers build (infiniband/mlx5dv.h,
// mlx5dv_set_ctrl_seg and mlx5dv_set_data_seg), doorbells and records against what post_send_db of
// rdma-core and mlx5r_ring_db of Linux write, and the queue's accounting.
#include <endian.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <infiniband/mlx5dv.h>

#include <cstring>

#include "pmd/send_queue.hpp"
#include "tests/pmd/object_rig.hpp"
#include "tests/pmd/verbs_wqe.hpp"

namespace portcullis::testing {
namespace {

using pmd::GatherEntry;
using pmd::WriteRequest;
using ::testing::HasSubstr;

constexpr WriteRequest kRequest{0x1122334455667788, prm::Rkey{0xaabbccdd}, 77, true};
constexpr std::uint8_t kSignaled = MLX5_WQE_CTRL_CQ_UPDATE;

/// An RDMA WRITE as rdma-core would build it.
VerbsWqe write_wqe(std::uint16_t index, std::uint8_t ds, std::uint8_t fm_ce_se) {
  return VerbsWqe(index, MLX5_OPCODE_RDMA_WRITE, ds, fm_ce_se)
      .remote(kRequest.remote_address, prm::number(kRequest.rkey));
}

struct SendQueueBytes : ::testing::Test, QueueRig {
  /// The ring's bytes from block `index` on, running round its end.
  std::vector<std::byte> ring_bytes(std::size_t index, std::size_t bytes) {
    std::vector<std::byte> found(bytes);
    for (std::size_t i = 0; i < bytes; ++i) found[i] = send_ring()[(index * 64 + i) % kRingBytes];
    return found;
  }
  std::uint64_t doorbell(std::size_t offset) {
    std::uint64_t raw = 0;
    std::memcpy(&raw, uar_cell(offset), sizeof raw);
    return raw;
  }
  std::uint64_t first_quadword(std::size_t index) {
    std::uint64_t raw = 0;
    std::memcpy(&raw, send_ring() + index * 64, sizeof raw);
    return raw;
  }
  std::uint64_t record() { return big_endian({send_record(), 8}); }
  /// What completing does to the queue, without a completion queue.
  void fill_with_single_blocks(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_TRUE(qp.post_write(GatherEntry{0x1000, 1, 8}, kRequest));
  }
  /// The device's answer to WQE `counter`.
  void complete(std::uint16_t counter) {
    std::byte* cqe = completion_ring() + completed % 16 * 64;
    const std::uint32_t qpn = htobe32(std::uint32_t{MLX5_OPCODE_RDMA_WRITE} << 24 | kQpn);
    const std::uint16_t wqe = htobe16(counter);
    std::memcpy(cqe + offsetof(mlx5_cqe64, sop_drop_qpn), &qpn, sizeof qpn);
    std::memcpy(cqe + offsetof(mlx5_cqe64, wqe_counter), &wqe, sizeof wqe);
    cqe[offsetof(mlx5_cqe64, op_own)] = static_cast<std::byte>(completed / 16 % 2);
    ++completed;
    const auto polled = cq.try_poll();
    ASSERT_TRUE(polled && polled->has_value());
  }

  static constexpr std::size_t kRingBytes = 16 * 64;
  std::size_t completed = 0;
};

TEST_F(SendQueueBytes, WriteByReference_IsOneBlock) {
  const GatherEntry piece{0xdeadbeef00112233, 0x55667788, 4096};
  ASSERT_TRUE(qp.post_write(piece, kRequest));
  EXPECT_EQ(ring_bytes(0, 48), write_wqe(0, 3, kSignaled).piece(piece).bytes());
  EXPECT_EQ(qp.outstanding_blocks(), 1u);
}

TEST_F(SendQueueBytes, UnsignaledWrite_AsksForNoCompletion) {
  WriteRequest request = kRequest;
  request.signaled = false;
  const GatherEntry piece{0x1000, 1, 8};
  ASSERT_TRUE(qp.post_write(piece, request));
  EXPECT_EQ(ring_bytes(0, 48), write_wqe(0, 3, 0).piece(piece).bytes());
}

TEST_F(SendQueueBytes, GatherRunsOnIntoTheNextBlocks) {
  std::vector<GatherEntry> pieces;
  VerbsWqe expected = write_wqe(0, 2 + pmd::SendQueue::kMaxGather, kSignaled);
  for (std::uint32_t i = 0; i < pmd::SendQueue::kMaxGather; ++i)
    expected.piece(pieces.emplace_back(GatherEntry{0x1000u * i, i, 100 + i}));
  ASSERT_TRUE(qp.post_write(pieces, kRequest));
  EXPECT_EQ(ring_bytes(0, expected.bytes().size()), expected.bytes());
  EXPECT_EQ(qp.outstanding_blocks(), 4u);
}

TEST_F(SendQueueBytes, EmptyWrite_HasNoDataSegment) {
  ASSERT_TRUE(qp.post_write(std::span<const GatherEntry>(), kRequest));
  ASSERT_TRUE(qp.post_write(GatherEntry{0x1000, 1, 0}, kRequest));
  ASSERT_TRUE(qp.post_write_inline({}, kRequest));
  EXPECT_EQ(ring_bytes(0, 32), write_wqe(0, 2, kSignaled).bytes());
  EXPECT_EQ(ring_bytes(1, 32), write_wqe(1, 2, kSignaled).bytes());
  EXPECT_EQ(ring_bytes(2, 32), write_wqe(2, 2, kSignaled).bytes());
}

TEST_F(SendQueueBytes, EmptyPiecesBetweenOthers_HaveNoDataSegment) {
  const GatherEntry first{0x1000, 1, 8}, second{0x2000, 2, 16};
  const std::vector<GatherEntry> pieces{{0, 9, 0}, first, {0, 9, 0}, second, {0, 9, 0}};
  ASSERT_TRUE(qp.post_write(pieces, kRequest));
  EXPECT_EQ(ring_bytes(0, 64), write_wqe(0, 4, kSignaled).piece(first).piece(second).bytes());
}

struct InlineSize {
  std::size_t bytes;
  std::uint8_t ds;
  std::uint32_t blocks;
};

struct InlineWrites : SendQueueBytes, ::testing::WithParamInterface<InlineSize> {};

TEST_P(InlineWrites, CarryTheirDataBehindTheHeader) {
  const auto data = counting(GetParam().bytes);
  const auto expected = write_wqe(0, GetParam().ds, kSignaled).inlined(data).bytes();
  ASSERT_TRUE(qp.post_write_inline(data, kRequest));
  EXPECT_EQ(ring_bytes(0, expected.size()), expected);
  EXPECT_EQ(qp.outstanding_blocks(), GetParam().blocks);
}

TEST_P(InlineWrites, FromTheLastBlock_RunOnAtTheRingsStart) {
  fill_with_single_blocks(15);
  complete(14);
  const auto data = counting(GetParam().bytes);
  const auto expected = write_wqe(15, GetParam().ds, kSignaled).inlined(data).bytes();
  ASSERT_TRUE(qp.post_write_inline(data, kRequest));
  EXPECT_EQ(ring_bytes(15, expected.size()), expected);
}

// ds = ceil((16 + 16 + 4 + bytes) / 16), blocks = ceil(ds / 4).
INSTANTIATE_TEST_SUITE_P(Sizes, InlineWrites,
                         ::testing::Values(InlineSize{1, 3, 1}, InlineSize{2, 3, 1},
                                           InlineSize{12, 3, 1}, InlineSize{13, 4, 1},
                                           InlineSize{28, 4, 1}, InlineSize{29, 5, 2},
                                           InlineSize{63, 7, 2}, InlineSize{64, 7, 2},
                                           InlineSize{92, 8, 2}, InlineSize{93, 9, 3},
                                           InlineSize{220, 16, 4}),
                         [](const auto& size) { return std::to_string(size.param.bytes); });

TEST_F(SendQueueBytes, BlockThatHeldInlineData_KeepsNothingOfIt) {
  ASSERT_TRUE(qp.post_write_inline(counting(220), kRequest));  // blocks 0 to 3
  complete(0);
  fill_with_single_blocks(13);  // to block 0 of the next pass
  complete(16);
  const GatherEntry piece{0xdeadbeef00112233, 0x55667788, 4096};
  ASSERT_TRUE(qp.post_write(piece, kRequest));
  EXPECT_EQ(ring_bytes(1, 48), write_wqe(17, 3, kSignaled).piece(piece).bytes());
}

TEST_F(SendQueueBytes, PostWithoutRing_TouchesNeitherRecordNorDoorbell) {
  fill_with_single_blocks(3);
  EXPECT_EQ(record(), 0u);
  EXPECT_EQ(doorbell(0x800), 0u);
  EXPECT_EQ(doorbell(0x900), 0u);
}

TEST_F(SendQueueBytes, RingCountsEveryBlockAndGivesTheLastWqesFirstBytes) {
  ASSERT_TRUE(qp.post_write_inline(counting(64), kRequest));
  ASSERT_TRUE(qp.post_write_inline(counting(64), kRequest));
  qp.ring();
  EXPECT_EQ(record(), 4u);  // dword 0 receive, dword 1 send
  EXPECT_EQ(doorbell(0x800), first_quadword(2));
  EXPECT_EQ(doorbell(0x900), 0u);
}

TEST_F(SendQueueBytes, DoorbellsAlternateBetweenTwoBuffers) {
  fill_with_single_blocks(1);
  qp.ring();
  fill_with_single_blocks(1);
  qp.ring();
  EXPECT_EQ(doorbell(0x800), first_quadword(0));
  EXPECT_EQ(doorbell(0x900), first_quadword(1));
  fill_with_single_blocks(1);
  qp.ring();
  EXPECT_EQ(doorbell(0x800), first_quadword(2));
}

TEST_F(SendQueueBytes, FullQueueIsBusyUntilACompletion) {
  fill_with_single_blocks(16);
  const auto full = qp.post_write(GatherEntry{}, kRequest);
  EXPECT_EQ(full.error().code, Errc::Busy);
  EXPECT_THAT(full.error().text, HasSubstr("16 of 16 blocks outstanding"));
  complete(0);
  EXPECT_TRUE(qp.post_write(GatherEntry{}, kRequest));
  EXPECT_EQ(qp.post_write(GatherEntry{}, kRequest).error().code, Errc::Busy);
}

TEST_F(SendQueueBytes, CompletionFreesEverythingBeforeItToo) {
  fill_with_single_blocks(10);
  complete(8);
  EXPECT_EQ(qp.outstanding_blocks(), 1u);
}

TEST_F(SendQueueBytes, CountersRunThroughSixteenBits) {
  for (std::uint32_t counter = 0; counter < 0x10004; ++counter) {
    fill_with_single_blocks(1);
    complete(static_cast<std::uint16_t>(counter));
  }
  fill_with_single_blocks(1);
  qp.ring();
  EXPECT_EQ(record(), 5u);
  const GatherEntry piece{0x1000, 1, 8};
  EXPECT_EQ(ring_bytes(4, 48), write_wqe(4, 3, kSignaled).piece(piece).bytes());
}

TEST_F(SendQueueBytes, ResetQueue_StartsFromItsFirstBlock) {
  fill_with_single_blocks(5);
  qp.ring();
  ASSERT_TRUE(qp.to_reset());
  EXPECT_EQ(record(), 0u);
  EXPECT_EQ(qp.outstanding_blocks(), 0u);
  const GatherEntry piece{0x1000, 1, 8};
  ASSERT_TRUE(qp.post_write(piece, kRequest));
  EXPECT_EQ(ring_bytes(0, 48), write_wqe(0, 3, kSignaled).piece(piece).bytes());
}

TEST_F(SendQueueBytes, RingOfAResetQueue_NamesTheQueuePairAndNoWqeOfBefore) {
  fill_with_single_blocks(5);
  ASSERT_TRUE(qp.to_reset());
  qp.ring();
  EXPECT_EQ(record(), 0u);
  EXPECT_EQ(be64toh(doorbell(0x800)), std::uint64_t{MLX5_OPCODE_RDMA_WRITE} << 32 | kQpn << 8);
}

TEST_F(SendQueueBytes, WhatNoWqeCanCarry_IsRefusedAndNothingPosted) {
  const std::vector<GatherEntry> many(pmd::SendQueue::kMaxGather + 1);
  EXPECT_THAT(qp.post_write(many, kRequest).error().text,
              HasSubstr("15 gather entries; at most 14"));
  EXPECT_THAT(qp.post_write_inline(counting(221), kRequest).error().text,
              HasSubstr("221 bytes inline; at most 220"));
  EXPECT_EQ(qp.post_write(GatherEntry{0, 0, 1u << 31}, kRequest).error().code,
            Errc::InvalidArgument);
  EXPECT_EQ(qp.outstanding_blocks(), 0u);
}

struct TinySendQueue : ::testing::Test, QueueRig {
  TinySendQueue() : QueueRig({.log_sq_size = 0}, 4) {}
};

TEST_F(TinySendQueue, WqeLargerThanTheQueue_IsNotMerelyBusy) {
  const auto refused = qp.post_write_inline(counting(64), kRequest);
  EXPECT_EQ(refused.error().code, Errc::InvalidArgument);
  EXPECT_THAT(refused.error().text, HasSubstr("has 1 in all"));
}

}  // namespace
}  // namespace portcullis::testing
