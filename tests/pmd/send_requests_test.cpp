// SPDX-License-Identifier: BSD-3-Clause
//
// The WQE of every opcode, byte for byte as rdma-core fills it (_mlx5_post_send of
// providers/mlx5/qp.c: which segments in which order, fm_ce_se, imm), and UMRs as Linux posts them
// (mlx5r_umr_revoke_mr and mlx5r_umr_rereg_pd_access of mlx5_ib/umr.c, set_linv_wr of wr.c).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pmd/verbs_wqe.hpp"

namespace portcullis::testing {
namespace {

using pmd::Access;
using pmd::GatherEntry;
using pmd::KeyRequest;
using pmd::WorkRequest;
using prm::WqeOpcode;
using ::testing::HasSubstr;

constexpr std::uint64_t kRemote = 0x1122334455667788;
constexpr prm::Rkey kRkey{0xaabbccdd};
constexpr GatherEntry kPiece{0xdeadbeef00112233, 0x55667788, 4096};
constexpr GatherEntry kResult{0x7000, 0x4433, 8};
constexpr std::uint8_t kSignaled = MLX5_WQE_CTRL_CQ_UPDATE;

WorkRequest request(WqeOpcode opcode) {
  WorkRequest request;
  request.opcode = opcode;
  request.wr_id = 5;
  request.remote_address = kRemote;
  request.rkey = kRkey;
  return request;
}

struct SendRequests : ::testing::Test, QueueRig {
  std::vector<std::byte> posted(std::size_t bytes, std::size_t block = 0) {
    std::vector<std::byte> found(bytes);
    for (std::size_t i = 0; i < bytes; ++i) found[i] = send_ring()[(block * 64 + i) % (16 * 64)];
    return found;
  }
  /// What is in the ring must not show through.
  void SetUp() override { std::fill_n(send_ring(), 16 * 64, std::byte{0xee}); }
};

TEST_F(SendRequests, Send_IsControlAndData) {
  ASSERT_TRUE(qp.post(request(WqeOpcode::SEND), kPiece));
  EXPECT_EQ(posted(32), VerbsWqe(0, MLX5_OPCODE_SEND, 2, kSignaled).piece(kPiece).bytes());
}

TEST_F(SendRequests, SendWithImmediate_CarriesItInNetworkOrder) {
  WorkRequest send = request(WqeOpcode::SEND_IMM);
  send.immediate = 0x01020304;
  ASSERT_TRUE(qp.post(send, kPiece));
  EXPECT_EQ(posted(32),
            VerbsWqe(0, MLX5_OPCODE_SEND_IMM, 2, kSignaled, 0x01020304).piece(kPiece).bytes());
}

TEST_F(SendRequests, SendWithInvalidate_NamesThePeersKey) {
  WorkRequest send = request(WqeOpcode::SEND_INVAL);
  send.immediate = 0x5678;
  ASSERT_TRUE(qp.post(send, kPiece));
  EXPECT_EQ(posted(32),
            VerbsWqe(0, MLX5_OPCODE_SEND_INVAL, 2, kSignaled, 0x5678).piece(kPiece).bytes());
}

TEST_F(SendRequests, SendWithoutImmediate_LeavesNoneOfIt) {
  WorkRequest send = request(WqeOpcode::SEND);
  send.immediate = 0x01020304;
  ASSERT_TRUE(qp.post(send, kPiece));
  EXPECT_EQ(posted(32), VerbsWqe(0, MLX5_OPCODE_SEND, 2, kSignaled).piece(kPiece).bytes());
}

TEST_F(SendRequests, WriteWithImmediate_HasBoth) {
  WorkRequest write = request(WqeOpcode::RDMA_WRITE_IMM);
  write.immediate = 0xcafe;
  ASSERT_TRUE(qp.post(write, kPiece));
  EXPECT_EQ(posted(48), VerbsWqe(0, MLX5_OPCODE_RDMA_WRITE_IMM, 3, kSignaled, 0xcafe)
                            .remote(kRemote, prm::number(kRkey))
                            .piece(kPiece)
                            .bytes());
}

TEST_F(SendRequests, Write_IsAsTheFastPathPostsIt) {
  ASSERT_TRUE(qp.post(request(WqeOpcode::RDMA_WRITE), kPiece));
  EXPECT_EQ(posted(48), VerbsWqe(0, MLX5_OPCODE_RDMA_WRITE, 3, kSignaled)
                            .remote(kRemote, prm::number(kRkey))
                            .piece(kPiece)
                            .bytes());
}

TEST_F(SendRequests, Read_ScattersIntoItsPieces) {
  const std::vector<GatherEntry> pieces{kPiece, kResult, {0x9000, 7, 100}};
  ASSERT_TRUE(qp.post(request(WqeOpcode::RDMA_READ), pieces));
  EXPECT_EQ(posted(80), VerbsWqe(0, MLX5_OPCODE_RDMA_READ, 5, kSignaled)
                            .remote(kRemote, prm::number(kRkey))
                            .piece(pieces[0])
                            .piece(pieces[1])
                            .piece(pieces[2])
                            .bytes());
  EXPECT_EQ(qp.outstanding_blocks(), 2u);
}

TEST_F(SendRequests, CompareSwap_HasSwapBeforeCompare) {
  WorkRequest atomic = request(WqeOpcode::ATOMIC_CS);
  atomic.swap_or_add = 0x0102030405060708;
  atomic.compare = 0xa1a2a3a4a5a6a7a8;
  ASSERT_TRUE(qp.post(atomic, kResult));
  EXPECT_EQ(posted(64), VerbsWqe(0, MLX5_OPCODE_ATOMIC_CS, 4, kSignaled)
                            .remote(kRemote, prm::number(kRkey))
                            .atomic(0x0102030405060708, 0xa1a2a3a4a5a6a7a8)
                            .piece(kResult)
                            .bytes());
}

TEST_F(SendRequests, FetchAdd_HasOnlyWhatIsAdded) {
  WorkRequest atomic = request(WqeOpcode::ATOMIC_FA);
  atomic.swap_or_add = 3;
  atomic.compare = 0xa1a2a3a4a5a6a7a8;
  ASSERT_TRUE(qp.post(atomic, kResult));
  EXPECT_EQ(posted(64), VerbsWqe(0, MLX5_OPCODE_ATOMIC_FA, 4, kSignaled)
                            .remote(kRemote, prm::number(kRkey))
                            .atomic(3, 0)
                            .piece(kResult)
                            .bytes());
}

TEST_F(SendRequests, FencedSolicitedUnsignaled_IsInTheControlSegment) {
  WorkRequest send = request(WqeOpcode::SEND);
  send.fenced = true;
  send.solicited = true;
  send.signaled = false;
  ASSERT_TRUE(qp.post(send, kPiece));
  EXPECT_EQ(posted(32),
            VerbsWqe(0, MLX5_OPCODE_SEND, 2, MLX5_WQE_CTRL_FENCE | MLX5_WQE_CTRL_SOLICITED)
                .piece(kPiece)
                .bytes());
}

TEST_F(SendRequests, InlineSend_CarriesItsDataBehindTheControlSegment) {
  const auto data = counting(50);
  ASSERT_TRUE(qp.post_inline(request(WqeOpcode::SEND), data));
  const auto expected = VerbsWqe(0, MLX5_OPCODE_SEND, 5, kSignaled).inlined(data).bytes();
  EXPECT_EQ(posted(expected.size()), expected);
}

TEST_F(SendRequests, LargestInlineSend_RunsRoundTheRingsEnd) {
  for (int i = 0; i < 13; ++i) ASSERT_TRUE(qp.post(request(WqeOpcode::SEND)));
  const auto full = qp.post_inline(request(WqeOpcode::SEND), counting(236));
  EXPECT_EQ(full.error().code, Errc::Busy);
  ASSERT_TRUE(qp.to_reset());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(qp.post(request(WqeOpcode::SEND)));
  ASSERT_TRUE(qp.post_inline(request(WqeOpcode::SEND), counting(236)));
  const auto expected = VerbsWqe(3, MLX5_OPCODE_SEND, 16, kSignaled).inlined(counting(236)).bytes();
  EXPECT_EQ(posted(expected.size(), 3), expected);
}

TEST_F(SendRequests, DoorbellTakesTheLastRequestsFirstBytes_WhateverItIs) {
  ASSERT_TRUE(qp.post_write(kPiece, {kRemote, kRkey, 1, true}));
  ASSERT_TRUE(qp.post(request(WqeOpcode::RDMA_READ), kPiece));
  qp.ring();
  std::uint64_t doorbell = 0;
  std::memcpy(&doorbell, uar_cell(0x800), sizeof doorbell);
  std::uint64_t first = 0;
  std::memcpy(&first, send_ring() + 64, sizeof first);
  EXPECT_EQ(doorbell, first);
  EXPECT_EQ(big_endian({send_record() + 4, 4}), 2u);
}

TEST_F(SendRequests, WhatNoWqeCanCarry_IsRefusedAndNothingPosted) {
  const auto refused = [&](const auto& result, const char* text) {
    EXPECT_EQ(result.error().code, Errc::InvalidArgument);
    EXPECT_THAT(result.error().text, HasSubstr(text));
  };
  refused(qp.post(request(WqeOpcode::NOP)), "NOP (0)");
  refused(qp.post(request(WqeOpcode{0x77})), "(119)");
  refused(qp.post(request(WqeOpcode::ATOMIC_FA)), "into 0 pieces");
  refused(qp.post(request(WqeOpcode::ATOMIC_CS), kPiece), "4096 bytes; one of 8");
  refused(qp.post_inline(request(WqeOpcode::RDMA_READ), counting(8)), "RDMA_READ (16) inline");
  refused(qp.post_inline(request(WqeOpcode::ATOMIC_CS), counting(8)), "inline");
  refused(qp.post_inline(request(WqeOpcode::SEND), counting(237)), "at most 236");
  refused(qp.post(request(WqeOpcode::SEND), std::vector<GatherEntry>(16)), "at most 15");
  refused(qp.post(KeyRequest{.pdn = prm::PdNumber{0x1000000}}), "24 bits");
  EXPECT_EQ(qp.outstanding_blocks(), 0u);
}

/// The first block of a UMR and the segments behind it, as Linux lays them out.
VerbsWqe umr(std::uint8_t fm_ce_se, std::uint32_t key, std::uint8_t flags, std::uint64_t mask,
             const mlx5_wqe_mkey_context_seg& context) {
  mlx5_wqe_umr_ctrl_seg control{};
  control.flags = flags;
  control.mkey_mask = htobe64(mask);
  return VerbsWqe(0, MLX5_OPCODE_UMR, 8, fm_ce_se, key).append(control).append(context);
}

// Bits of mkey_mask that mlx5dv.h has no name for: include/linux/mlx5/device.h, MLX5_MKEY_MASK_*.
constexpr std::uint64_t kMaskPd = 1ull << 7;
constexpr std::uint64_t kMaskLr = 1ull << 17;
constexpr std::uint8_t kUmrCheckFree = 2 << 5;  // MLX5_UMR_CHECK_FREE: fails when the key is free
constexpr std::uint8_t kSmallFenceSignaled =
    MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE | MLX5_WQE_CTRL_CQ_UPDATE;

TEST_F(SendRequests, FreeingAKey_IsTheUmrOfMlx5rUmrRevokeMr) {
  ASSERT_TRUE(qp.post(KeyRequest{.change = KeyRequest::Change::FREE,
                                 .key = prm::Rkey{0x00123456},
                                 .pdn = prm::PdNumber{0x789},
                                 .wr_id = 1}));
  mlx5_wqe_mkey_context_seg context{};
  context.free = MLX5_WQE_MKEY_CONTEXT_FREE;
  context.qpn_mkey = htobe32(0xffffff00 | 0x56);
  context.flags_pd = htobe32(0x789);
  EXPECT_EQ(posted(128), umr(kSmallFenceSignaled, 0x00123456, MLX5_WQE_UMR_CTRL_FLAG_INLINE,
                             kMaskPd | MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE, context)
                             .bytes());
  EXPECT_EQ(qp.outstanding_blocks(), 2u);
}

TEST_F(SendRequests, LocalInvalidate_ChangesNothingButFree) {
  ASSERT_TRUE(qp.post(KeyRequest{.change = KeyRequest::Change::LOCAL_INVALIDATE,
                                 .key = prm::Rkey{0x00123456},
                                 .pdn = prm::PdNumber{0x789},
                                 .signaled = false}));
  mlx5_wqe_mkey_context_seg context{};
  context.free = MLX5_WQE_MKEY_CONTEXT_FREE;
  EXPECT_EQ(posted(128),
            umr(MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE, 0x00123456, MLX5_WQE_UMR_CTRL_FLAG_INLINE,
                MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE, context)
                .bytes());
}

TEST_F(SendRequests, ChangingAccess_IsTheUmrOfMlx5rUmrReregPdAccess) {
  ASSERT_TRUE(qp.post(KeyRequest{.change = KeyRequest::Change::ACCESS,
                                 .key = prm::Rkey{0x00123456},
                                 .pdn = prm::PdNumber{0x17},
                                 .access = {.local_write = true, .remote_read = true}}));
  mlx5_wqe_mkey_context_seg context{};
  context.access_flags = MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_LOCAL_READ |
                         MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_LOCAL_WRITE |
                         MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_READ;
  context.qpn_mkey = htobe32(0xffffff00 | 0x56);
  context.flags_pd = htobe32(0x17);
  const std::uint64_t mask = kMaskLr | MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_LOCAL_WRITE |
                             MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_READ |
                             MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_WRITE |
                             MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_ATOMIC | kMaskPd;
  EXPECT_EQ(posted(128), umr(kSmallFenceSignaled, 0x00123456,
                             MLX5_WQE_UMR_CTRL_FLAG_INLINE | kUmrCheckFree, mask, context)
                             .bytes());
}

struct AccessFlag {
  Access access;
  std::uint8_t flag;
  const char* name;
};

struct AccessFlags : SendRequests, ::testing::WithParamInterface<AccessFlag> {};

TEST_P(AccessFlags, EachRightHasItsBit) {
  ASSERT_TRUE(
      qp.post(KeyRequest{.change = KeyRequest::Change::ACCESS, .access = GetParam().access}));
  EXPECT_EQ(
      send_ring()[64 + offsetof(mlx5_wqe_mkey_context_seg, access_flags)],
      static_cast<std::byte>(MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_LOCAL_READ | GetParam().flag));
}

INSTANTIATE_TEST_SUITE_P(
    Rights, AccessFlags,
    ::testing::Values(
        AccessFlag{{}, 0, "None"},
        AccessFlag{
            {.local_write = true}, MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_LOCAL_WRITE, "LocalWrite"},
        AccessFlag{
            {.remote_write = true}, MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_WRITE, "RemoteWrite"},
        AccessFlag{
            {.remote_read = true}, MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_READ, "RemoteRead"},
        AccessFlag{
            {.remote_atomic = true}, MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_ATOMIC, "RemoteAtomic"}),
    [](const auto& right) { return right.param.name; });

}  // namespace
}  // namespace portcullis::testing
