// SPDX-License-Identifier: BSD-3-Clause
//
// Send WQE segments. Source of every layout here: struct of the same name in infiniband/mlx5dv.h;
// tests/prm holds each against that header. A WQE is a control segment, then what its opcode asks
// for: for RDMA WRITE a remote address segment, then data segments (or one inline segment).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

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

struct mlx5_wqe_raddr_seg : Layout<"mlx5_wqe_raddr_seg", 0x80,
    Field<"raddr", 0x0, 0x40>,
    Field<"rkey", 0x40, 0x20>,
    Reserved<0x60, 0x20>> {};

struct mlx5_wqe_data_seg : Layout<"mlx5_wqe_data_seg", 0x80,
    Field<"byte_count", 0x0, 0x20>,
    Field<"lkey", 0x20, 0x20>,
    Field<"addr", 0x40, 0x40>> {};

/// The data follows at once; the segment and its data are padded to 16 bytes.
struct mlx5_wqe_inl_data_seg : Layout<"mlx5_wqe_inl_data_seg", 0x20,
    Field<"byte_count", 0x0, 0x20>> {};

struct mlx5_wqe_atomic_seg : Layout<"mlx5_wqe_atomic_seg", 0x80,
    Field<"swap_add", 0x0, 0x40>,
    Field<"compare", 0x40, 0x40>> {};

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
  UMR = 0x25,
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

// fm_ce_se: fence mode, completion, solicited event.
inline constexpr std::uint8_t kCtrlSolicited = 1 << 1;  // MLX5_WQE_CTRL_SOLICITED
inline constexpr std::uint8_t kCtrlCqUpdate = 2 << 2;   // MLX5_WQE_CTRL_CQ_UPDATE
inline constexpr std::uint8_t kCtrlInitiatorSmallFence =
    1 << 5;                                         // MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE
inline constexpr std::uint8_t kCtrlFence = 4 << 5;  // MLX5_WQE_CTRL_FENCE

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
