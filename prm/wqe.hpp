// SPDX-License-Identifier: BSD-3-Clause
//
// WQE segments. Source of every layout here: struct of the same name in infiniband/mlx5dv.h;
// tests/prm holds each against that header. A send WQE is a control segment, then what its opcode
// asks for: a remote address segment for RDMA and atomics, an atomic segment, data segments or one
// inline segment; a UMR has its own two. On UD an address vector stands before all
// of them, on XRC the number of a shared receive queue. A
// receive WQE is data segments, in a shared queue behind one that names the next WQE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "prm/enums.hpp"
#include "prm/layout.hpp"

namespace portcullis::prm {

// One member a line, in the order of the header, so that the two can be read side by side.
// clang-format off
struct mlx5_wqe_ctrl_seg : Layout<"mlx5_wqe_ctrl_seg", 0x80,
    Field<"opmod_idx_opcode", 0x0, 0x20>,
    Field<"qpn_ds", 0x20, 0x20>,
    Field<"signature", 0x40, 0x8>,
    Field<"dci_stream_channel_id", 0x48, 0x10>,
    Field<"fm_ce_se", 0x58, 0x8>,
    Field<"imm", 0x60, 0x20>> {};

/// All that mlx5_wqe_datagram_seg has in it. Without kExtendedUdAv it ends behind rlid.
struct mlx5_wqe_av : Layout<"mlx5_wqe_av", 0x180,
    Field<"key", 0x0, 0x40>,  // of UD the Q_Key, in the upper half
    Field<"dqp_dct", 0x40, 0x20>,
    Field<"stat_rate_sl", 0x60, 0x8>,
    Field<"fl_mlid", 0x68, 0x8>,
    Field<"rlid", 0x70, 0x10>,  // or the UDP source port
    Reserved<0x80, 0x20>,
    Bytes<"rmac", 0xa0, 0x30>,
    Field<"tclass", 0xd0, 0x8>,
    Field<"hop_limit", 0xd8, 0x8>,
    Field<"grh_gid_fl", 0xe0, 0x20>,
    Bytes<"rgid", 0x100, 0x80>> {};

/// Of qp.h alone: mlx5dv.h has it not.
struct mlx5_wqe_xrc_seg : Layout<"mlx5_wqe_xrc_seg", 0x80,
    Field<"xrc_srqn", 0x0, 0x20>,
    Reserved<0x20, 0x60>> {};

struct mlx5_wqe_raddr_seg : Layout<"mlx5_wqe_raddr_seg", 0x80,
    Field<"raddr", 0x0, 0x40>,
    Field<"rkey", 0x40, 0x20>,
    Reserved<0x60, 0x20>> {};

struct mlx5_wqe_data_seg : Layout<"mlx5_wqe_data_seg", 0x80,
    Field<"byte_count", 0x0, 0x20>,
    Field<"lkey", 0x20, 0x20>,
    Field<"addr", 0x40, 0x40>> {};

/// First in each WQE of a shared receive queue: the WQE that comes after it.
struct mlx5_wqe_srq_next_seg : Layout<"mlx5_wqe_srq_next_seg", 0x80,
    Reserved<0x0, 0x10>,
    Field<"next_wqe_index", 0x10, 0x10>,
    Field<"signature", 0x20, 0x8>,
    Reserved<0x28, 0x58>> {};

/// The data follows at once; the segment and its data are padded to 16 bytes.
struct mlx5_wqe_inl_data_seg : Layout<"mlx5_wqe_inl_data_seg", 0x20,
    Field<"byte_count", 0x0, 0x20>> {};

struct mlx5_wqe_atomic_seg : Layout<"mlx5_wqe_atomic_seg", 0x80,
    Field<"swap_add", 0x0, 0x40>,
    Field<"compare", 0x40, 0x40>> {};

/// Which fields of a memory key's context a UMR changes, and what it checks first.
struct mlx5_wqe_umr_ctrl_seg : Layout<"mlx5_wqe_umr_ctrl_seg", 0x180,
    Field<"flags", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"klm_octowords", 0x20, 0x10>,
    Field<"translation_offset", 0x30, 0x10>,
    Field<"mkey_mask", 0x40, 0x40>,
    Reserved<0x80, 0x100>> {};

/// What they become. The same 64 bytes as layout mkc, with its bits gathered into bytes.
struct mlx5_wqe_mkey_context_seg : Layout<"mlx5_wqe_mkey_context_seg", 0x200,
    Field<"free", 0x0, 0x8>,
    Reserved<0x8, 0x8>,
    Field<"access_flags", 0x10, 0x8>,
    Field<"sf", 0x18, 0x8>,
    Field<"qpn_mkey", 0x20, 0x20>,
    Reserved<0x40, 0x20>,
    Field<"flags_pd", 0x60, 0x20>,
    Field<"start_addr", 0x80, 0x40>,
    Field<"len", 0xc0, 0x40>,
    Field<"bsf_octword_size", 0x100, 0x20>,
    Reserved<0x120, 0x80>,
    Field<"translations_octword_size", 0x1a0, 0x20>,
    Reserved<0x1c0, 0x18>,
    Field<"log_page_size", 0x1d8, 0x8>,
    Reserved<0x1e0, 0x20>> {};

// clang-format on

// MLX5_OPCODE_* (mlx5dv.h)
enum class WqeOpcode : std::uint8_t {
  NOP = 0x00,
  SEND_INVAL = 0x01,
  RDMA_WRITE = 0x08,
  RDMA_WRITE_IMM = 0x09,
  SEND = 0x0a,
  SEND_IMM = 0x0b,
  RDMA_READ = 0x10,
  ATOMIC_CS = 0x11,
  ATOMIC_FA = 0x12,
  LOCAL_INVAL = 0x1b,
  SET_PSV = 0x20,
  UMR = 0x25,
  TAG_MATCHING = 0x28,
};
[[nodiscard]] std::string_view name(WqeOpcode opcode) noexcept;

/// Unit of the queue and of wqe_index: a WQE takes whole basic blocks.
inline constexpr std::size_t kSendWqeBlockBytes = 64;  // MLX5_SEND_WQE_BB
/// Unit of ds: every segment is whole octowords (qp.h).
inline constexpr std::size_t kWqeOctowordBytes = 16;  // MLX5_SEND_WQE_DS
/// Most basic blocks of one WQE (qp.h); ds has six bits.
inline constexpr std::uint32_t kSendWqeMaxBlocks = 16;  // MLX5_SEND_WQE_MAX_WQEBBS
/// byte_count of an inline segment has this bit set beside the length.
inline constexpr std::uint32_t kInlineSeg = 0x80000000;  // MLX5_INLINE_SEG
/// byte_count of a receive's segment has this bit where its first write may be padded.
inline constexpr std::uint32_t kStartPadding = 0x80000000;  // MLX5_HW_START_PADDING (device.h)

// mlx5_wqe_av: dqp_dct is the QP number below a bit that says how long the vector is, fl_mlid the
// path bits of the source LID below "force loopback", and grh_gid_fl "has a GRH" (of RoCE not set),
// the GID's index in eight bits and the flow label (mlx5_create_ah of rdma-core's mlx5/verbs.c).
inline constexpr std::uint32_t kExtendedUdAv = 0x80000000;  // MLX5_EXTENDED_UD_AV (qp.h)
inline constexpr std::size_t kShortUdAvBytes = 16;          // mlx5_base_av (qp.h)
inline constexpr std::uint32_t kAvForceLoopback = 1 << 7;
inline constexpr std::uint32_t kAvGrh = 1 << 30;
[[nodiscard]] constexpr std::uint32_t av_gid_index(std::uint32_t grh_gid_fl) noexcept {
  return grh_gid_fl >> 20 & 0xff;
}

// fm_ce_se: fence mode, completion, solicited event.
inline constexpr std::uint8_t kCtrlSolicited = 1 << 1;  // MLX5_WQE_CTRL_SOLICITED
inline constexpr std::uint8_t kCtrlCqUpdate = 2 << 2;   // MLX5_WQE_CTRL_CQ_UPDATE
inline constexpr std::uint8_t kCtrlInitiatorSmallFence =
    1 << 5;                                         // MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE
inline constexpr std::uint8_t kCtrlFence = 4 << 5;  // MLX5_WQE_CTRL_FENCE

// mlx5_wqe_umr_ctrl_seg.flags. The header's names say what makes the UMR fail, as does
// mlx5r_umr_set_update_xlt_ctrl_seg: "fail if free" is CHECK_FREE, "fail if not free" the other.
inline constexpr std::uint8_t kUmrInline = 1 << 7;               // MLX5_UMR_INLINE
inline constexpr std::uint8_t kUmrFailIfNotFree = 1 << 5;        // MLX5_UMR_CHECK_NOT_FREE
inline constexpr std::uint8_t kUmrFailIfFree = 2 << 5;           // MLX5_UMR_CHECK_FREE
inline constexpr std::uint8_t kUmrTranslationOffsetEn = 1 << 4;  // MLX5_UMR_TRANSLATION_OFFSET_EN
inline constexpr std::uint8_t kUmrCheckQpn = 1 << 3;             // MLX5_WQE_UMR_CTRL_FLAG_CHECK_QPN

// MLX5_MKEY_MASK_* (device.h; mlx5_wqe_umr_ctrl_seg.mkey_mask)
enum class MkeyMask : std::uint64_t {
  LEN = 1ull << 0,
  PAGE_SIZE = 1ull << 1,
  START_ADDR = 1ull << 6,
  PD = 1ull << 7,
  EN_RINVAL = 1ull << 8,
  EN_SIGERR = 1ull << 9,
  BSF_EN = 1ull << 12,
  KEY = 1ull << 13,
  QPN = 1ull << 14,
  LR = 1ull << 17,
  LW = 1ull << 18,
  RR = 1ull << 19,
  RW = 1ull << 20,
  A = 1ull << 21,
  SMALL_FENCE = 1ull << 23,
  RELAXED_ORDERING_WRITE = 1ull << 25,
  FREE = 1ull << 29,
  RELAXED_ORDERING_READ = 1ull << 47,
};
/// `PD | FREE | ..` as mkey_mask takes it.
[[nodiscard]] constexpr std::uint64_t operator|(MkeyMask a, MkeyMask b) noexcept {
  return number(a) | number(b);
}
[[nodiscard]] constexpr std::uint64_t operator|(std::uint64_t a, MkeyMask b) noexcept {
  return a | number(b);
}

// mlx5_wqe_mkey_context_seg.free and access_flags.
inline constexpr std::uint8_t kMkeyFree = 1 << 6;    // MLX5_WQE_MKEY_CONTEXT_FREE
inline constexpr std::uint8_t kMkeyAtomic = 1 << 6;  // MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_ATOMIC
inline constexpr std::uint8_t kMkeyRemoteWrite =
    1 << 5;  // MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_WRITE
inline constexpr std::uint8_t kMkeyRemoteRead =
    1 << 4;  // MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_READ
inline constexpr std::uint8_t kMkeyLocalWrite =
    1 << 3;  // MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_LOCAL_WRITE
inline constexpr std::uint8_t kMkeyLocalRead =
    1 << 2;  // MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_LOCAL_READ

/// mlx5_wqe_mkey_context_seg.qpn_mkey: the QP that may use the key (kMkcQpnAny: any) above the
/// key's low byte.
[[nodiscard]] constexpr std::uint32_t qpn_mkey(std::uint32_t qpn, std::uint32_t key) noexcept {
  return qpn << 8 | (key & 0xff);
}

/// opmod_idx_opcode; `wqe_index` is the WQE's first basic block and wraps at 16 bits whatever the
/// queue's size (mlx5dv_set_ctrl_seg).
[[nodiscard]] constexpr std::uint32_t opmod_idx_opcode(WqeOpcode opcode, std::uint16_t wqe_index,
                                                       std::uint8_t opmod = 0) noexcept {
  return std::uint32_t{opmod} << 24 | std::uint32_t{wqe_index} << 8 |
         static_cast<std::uint32_t>(opcode);
}
[[nodiscard]] constexpr std::uint8_t wqe_opmod(std::uint32_t opmod_idx_opcode) noexcept {
  return static_cast<std::uint8_t>(opmod_idx_opcode >> 24);
}
[[nodiscard]] constexpr std::uint16_t wqe_index(std::uint32_t opmod_idx_opcode) noexcept {
  return static_cast<std::uint16_t>(opmod_idx_opcode >> 8);
}
/// May be a value that WqeOpcode has no name for: the bytes are the client's.
[[nodiscard]] constexpr WqeOpcode wqe_opcode(std::uint32_t opmod_idx_opcode) noexcept {
  return WqeOpcode{static_cast<std::uint8_t>(opmod_idx_opcode)};
}

/// qpn_ds; `ds` counts octowords of the whole WQE, control segment included.
[[nodiscard]] constexpr std::uint32_t qpn_ds(std::uint32_t qpn, std::uint32_t ds) noexcept {
  return qpn << 8 | (ds & 0x3f);
}
[[nodiscard]] constexpr std::uint32_t wqe_qpn(std::uint32_t qpn_ds) noexcept { return qpn_ds >> 8; }
/// Six bits (qp.h, MLX5_WQE_CTRL_DS_MASK).
[[nodiscard]] constexpr std::uint32_t wqe_ds(std::uint32_t qpn_ds) noexcept {
  return qpn_ds & 0x3f;
}
/// Basic blocks that a WQE of `ds` octowords takes.
[[nodiscard]] constexpr std::uint32_t wqe_blocks(std::uint32_t ds) noexcept { return (ds + 3) / 4; }

[[nodiscard]] constexpr std::uint32_t inline_byte_count(std::uint32_t bytes) noexcept {
  return kInlineSeg | bytes;
}

}  // namespace portcullis::prm
