// SPDX-License-Identifier: BSD-3-Clause
//
// What is composed of a dword's parts: WQE and CQE words, doorbells, registers, owner bits. Where
// infiniband/mlx5dv.h brings a function for it, that function is the oracle; elsewhere the expected
// numbers are written out from the source named in the header.
#include <gtest/gtest.h>
#include <infiniband/mlx5dv.h>

#include <array>
#include <cstring>

#include "prm/cqe.hpp"
#include "prm/doorbell.hpp"
#include "prm/eqe.hpp"
#include "prm/init_segment.hpp"
#include "prm/object_commands.hpp"
#include "prm/view.hpp"
#include "prm/wqe.hpp"
#include "tests/prm/hex.hpp"

namespace portcullis::prm {
namespace {

using testing::hex_of;

template <class Struct>
std::string hex_of_struct(const Struct& value) {
  return hex_of(std::as_bytes(std::span(&value, 1)));
}

// ---- WQE, against mlx5dv_set_ctrl_seg and mlx5dv_set_data_seg ----

TEST(Wqe, ControlSegment_IsThatOfMlx5dv) {
  ::mlx5_wqe_ctrl_seg theirs{};
  mlx5dv_set_ctrl_seg(&theirs, 0xfedc, MLX5_OPCODE_RDMA_WRITE, 0, 0xabcdef,
                      MLX5_WQE_CTRL_CQ_UPDATE | MLX5_WQE_CTRL_SOLICITED, 3, 0, htobe32(0x1234));
  Buffer<mlx5_wqe_ctrl_seg> ours;
  ours.put<"opmod_idx_opcode">(opmod_idx_opcode(WqeOpcode::RDMA_WRITE, 0xfedc));
  ours.put<"qpn_ds">(qpn_ds(0xabcdef, 3));
  ours.put<"fm_ce_se">(kCtrlCqUpdate | kCtrlSolicited).put<"imm">(0x1234);
  EXPECT_EQ(hex_of(ours.all()), hex_of_struct(theirs));
}

TEST(Wqe, OpcodeModifier_IsThatOfMlx5dv) {
  ::mlx5_wqe_ctrl_seg theirs{};
  mlx5dv_set_ctrl_seg(&theirs, 1, MLX5_OPCODE_UMR, 0x5a, 0, 0, 0x3f, 0, 0);
  Buffer<mlx5_wqe_ctrl_seg> ours;
  ours.put<"opmod_idx_opcode">(opmod_idx_opcode(WqeOpcode::UMR, 1, 0x5a));
  ours.put<"qpn_ds">(qpn_ds(0, 0x3f));
  EXPECT_EQ(hex_of(ours.all()), hex_of_struct(theirs));
}

TEST(Wqe, DataSegment_IsThatOfMlx5dv) {
  ::mlx5_wqe_data_seg theirs{};
  mlx5dv_set_data_seg(&theirs, 0x1000, 0x123456ab, 0x7fff12345678);
  Buffer<mlx5_wqe_data_seg> ours;
  ours.put<"byte_count">(0x1000).put<"lkey">(0x123456ab).put<"addr">(0x7fff12345678);
  EXPECT_EQ(hex_of(ours.all()), hex_of_struct(theirs));
}

TEST(Wqe, ComposedWords_DecomposeAgain) {
  const std::uint32_t word = opmod_idx_opcode(WqeOpcode::RDMA_READ, 0xffff, 0x12);
  EXPECT_EQ(wqe_opcode(word), WqeOpcode::RDMA_READ);
  EXPECT_EQ(wqe_index(word), 0xffff);
  EXPECT_EQ(wqe_opmod(word), 0x12);
  EXPECT_EQ(wqe_qpn(qpn_ds(0xffffff, 0x3f)), 0xffffffu);
  EXPECT_EQ(wqe_ds(qpn_ds(0xffffff, 0x3f)), 0x3fu);
}

TEST(Wqe, Octowords_TakeWholeBasicBlocks) {
  EXPECT_EQ(wqe_blocks(1), 1u);
  EXPECT_EQ(wqe_blocks(4), 1u);
  EXPECT_EQ(wqe_blocks(5), 2u);
  EXPECT_EQ(wqe_blocks(0x3f), 16u);
}

TEST(Wqe, InlineLength_CarriesTheInlineBit) { EXPECT_EQ(inline_byte_count(64), 0x80000040u); }

// ---- CQE, against mlx5dv_get_cqe_* ----

TEST(Cqe, OpOwn_IsReadByMlx5dvAsComposed) {
  ::mlx5_cqe64 cqe{};
  cqe.op_own = op_own(CqeOpcode::REQ_ERR, true, true);
  EXPECT_EQ(mlx5dv_get_cqe_opcode(&cqe), MLX5_CQE_REQ_ERR);
  EXPECT_EQ(mlx5dv_get_cqe_owner(&cqe), 1);
  EXPECT_EQ(mlx5dv_get_cqe_se(&cqe), 1);
}

TEST(Cqe, OpOwn_DecomposesAgain) {
  const std::uint8_t word = op_own(CqeOpcode::RESP_SEND_IMM, false);
  EXPECT_EQ(cqe_opcode(word), CqeOpcode::RESP_SEND_IMM);
  EXPECT_FALSE(cqe_owner(word));
}

TEST(Cqe, ErrorOpcodes_AreErrors) {
  EXPECT_TRUE(cqe_is_error(op_own(CqeOpcode::REQ_ERR, false)));
  EXPECT_TRUE(cqe_is_error(op_own(CqeOpcode::RESP_ERR, true)));
  EXPECT_FALSE(cqe_is_error(op_own(CqeOpcode::REQ, true)));
  EXPECT_FALSE(cqe_is_error(op_own(CqeOpcode::INVALID, true)));
}

TEST(Cqe, FreshQueue_HasNothingReadyInTheFirstTwoRounds) {
  EXPECT_FALSE(cqe_is_ready(kCqeNeverWritten, 0, 6));
  EXPECT_FALSE(cqe_is_ready(kCqeNeverWritten, 64, 6));
}

TEST(Cqe, OwnerBit_FlipsWithEachRound) {
  EXPECT_TRUE(cqe_is_ready(op_own(CqeOpcode::REQ, false), 63, 6));
  EXPECT_FALSE(cqe_is_ready(op_own(CqeOpcode::REQ, false), 64, 6));
  EXPECT_TRUE(cqe_is_ready(op_own(CqeOpcode::REQ, true), 64, 6));
  EXPECT_TRUE(cqe_is_ready(op_own(CqeOpcode::REQ, false), 128, 6));
}

TEST(Cqe, OpcodeAndQpn_ShareADword) {
  EXPECT_EQ(opcode_qpn(0x08, 0xabcdef), 0x08abcdefu);
  EXPECT_EQ(cqe_wqe_opcode(0x08abcdef), 0x08);
  EXPECT_EQ(cqe_qpn(0x08abcdef), 0xabcdefu);
  EXPECT_EQ(cqe_user_index(0xff123456), 0x123456u);
}

// ---- doorbells ----

TEST(Doorbell, CqArm_IsSequenceCommandAndIndex) {
  // mlx5_cq_arm of cq.h: sn << 28 | cmd | ci, then the CQ's number.
  EXPECT_EQ(cq_arm_record(0, kCqDbReqNot, 0), 0u);
  EXPECT_EQ(cq_arm_record(5, kCqDbReqNotSol, 0x1234567), 0x11234567u);
  EXPECT_EQ(cq_doorbell(0x11234567, 0xabc), 0x1123456700000abcu);
}

TEST(Doorbell, CqArm_DecomposesAgain) {
  const std::uint32_t record = cq_arm_record(3, kCqDbReqNotSol, 7);
  EXPECT_EQ(cq_arm_sn(record), 3u);
  EXPECT_TRUE(cq_arm_solicited(record));
  EXPECT_FALSE(cq_arm_solicited(cq_arm_record(3, kCqDbReqNot, 7)));
  EXPECT_EQ(cq_consumer_index(record), 7u);
  EXPECT_EQ(cq_doorbell_cqn(cq_doorbell(record, 0x123)), 0x123u);
}

TEST(Doorbell, EqUpdate_IsNumberAndIndex) {
  // eq_update_ci of mlx5/core/lib/eq.h: eqn << 24 | (ci & 0xffffff).
  EXPECT_EQ(eq_doorbell(0x12, 0x1abcdef), 0x12abcdefu);
  EXPECT_EQ(eq_doorbell_eqn(0x12abcdef), 0x12);
  EXPECT_EQ(eq_doorbell_ci(0x12abcdef), 0xabcdefu);
}

TEST(Doorbell, BlueFlameBuffers_AlternateInTheirRegister) {
  EXPECT_EQ(bf_buffer_bytes(9), 0x100u);
  EXPECT_EQ(bf_offset(0, 9), 0x800u);
  EXPECT_EQ(bf_offset(1, 9), 0xa00u);
  EXPECT_EQ(uar_offset(0x10), 0x10000u);
}

// ---- events ----

TEST(EventBitmask, EventTypes_AreBitsOfBigEndianQuadwords) {
  // Linux's command EQ (bit 0x0a) and page EQ (0x0b) of trace-mlx5_core.txt in snabb have
  // 0x00000400 and 0x00000800 in dword 1.
  Buffer<create_eq_in> command, pages;
  enable_event(command.bytes<"event_bitmask">(), EventType::CMD);
  enable_event(pages.bytes<"event_bitmask">(), EventType::PAGE_REQUEST);
  EXPECT_EQ(hex_of(command.bytes<"event_bitmask">().first<12>()), "00000000 00000400 00000000");
  EXPECT_EQ(hex_of(pages.bytes<"event_bitmask">().first<12>()), "00000000 00000800 00000000");
}

TEST(EventBitmask, OnlyWhatWasEnabled_IsEnabled) {
  std::array<std::byte, 32> mask{};
  enable_event(mask, EventType::WQ_ACCESS_ERROR);
  EXPECT_TRUE(event_enabled(mask, EventType::WQ_ACCESS_ERROR));
  EXPECT_FALSE(event_enabled(mask, EventType::WQ_INVAL_REQ_ERROR));
  EXPECT_FALSE(event_enabled(mask, EventType::COMP));
}

TEST(Eqe, OwnerBit_FlipsWithEachRound) {
  EXPECT_FALSE(eqe_is_ready(kEqeNeverWritten, 0, 7));
  EXPECT_TRUE(eqe_is_ready(0, 127, 7));
  EXPECT_FALSE(eqe_is_ready(0, 128, 7));
  EXPECT_TRUE(eqe_is_ready(1, 128, 7));
}

// ---- initialisation segment ----

TEST(InitSegment, CommandQueueAddress_SharesItsDword) {
  const std::uint32_t word = cmdq_addr_l_sz(0x7af3d0000, 7, 5, 6);
  EXPECT_EQ(word, 0xaf3d0756u);
  EXPECT_EQ(cmdq_addr_l(word), 0xaf3d0000u);
  EXPECT_EQ(nic_interface(word), 7u);
  EXPECT_EQ(log_cmdq_size(word), 5u);
  EXPECT_EQ(log_cmdq_stride(word), 6u);
}

TEST(InitSegment, Revisions_ShareTheirDwords) {
  // Firmware 16.35.4506 with command interface 5.
  EXPECT_EQ(fw_rev(16, 35), 0x00230010u);
  EXPECT_EQ(cmdif_rev_fw_sub(5, 4506), 0x0005119au);
}

TEST(InitSegment, Timeouts_HaveFourUnits) {
  EXPECT_EQ(iseg_timeout_ms(0), 0u);
  EXPECT_EQ(iseg_timeout_ms(0x000007d0), 2000u);
  EXPECT_EQ(iseg_timeout_ms(0x2000003c), 60'000u);
  EXPECT_EQ(iseg_timeout_ms(0x40000002), 120'000u);
  EXPECT_EQ(iseg_timeout_ms(0x60000001), 3'600'000u);
}

}  // namespace
}  // namespace portcullis::prm
