// SPDX-License-Identifier: BSD-3-Clause
//
// Completion queue entries of 64 bytes, and what an error in one means. Source of every layout
// here: struct of the same name in infiniband/mlx5dv.h; tests/prm holds each against that header.
// The two layouts are two readings of the same bytes: op_own says which applies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "prm/layout.hpp"

namespace portcullis::prm {

// One member a line, in the order of the header, so that the two can be read side by side.
// clang-format off
struct mlx5_cqe64 : Layout<"mlx5_cqe64", 0x200,
    Reserved<0x0, 0x10>,
    Field<"wqe_id", 0x10, 0x10>,
    Reserved<0x20, 0x68>,
    Field<"ml_path", 0x88, 0x8>,
    Reserved<0x90, 0x20>,
    Field<"slid", 0xb0, 0x10>,
    Field<"flags_rqpn", 0xc0, 0x20>,
    Field<"hds_ip_ext", 0xe0, 0x8>,
    Field<"l4_hdr_type_etc", 0xe8, 0x8>,
    Field<"vlan_info", 0xf0, 0x10>,
    Field<"srqn_uidx", 0x100, 0x20>,
    Field<"imm_inval_pkey", 0x120, 0x20>,
    Field<"app", 0x140, 0x8>,
    Field<"app_op", 0x148, 0x8>,
    Field<"app_info", 0x150, 0x10>,
    Field<"byte_cnt", 0x160, 0x20>,
    Field<"timestamp", 0x180, 0x40>,
    Field<"sop_drop_qpn", 0x1c0, 0x20>,
    Field<"wqe_counter", 0x1e0, 0x10>,
    Field<"signature", 0x1f0, 0x8>,
    Field<"op_own", 0x1f8, 0x8>> {};

struct mlx5_err_cqe : Layout<"mlx5_err_cqe", 0x200,
    Reserved<0x0, 0x100>,
    Field<"srqn", 0x100, 0x20>,
    Reserved<0x120, 0x90>,
    Field<"vendor_err_synd", 0x1b0, 0x8>,
    Field<"syndrome", 0x1b8, 0x8>,
    Field<"s_wqe_opcode_qpn", 0x1c0, 0x20>,
    Field<"wqe_counter", 0x1e0, 0x10>,
    Field<"signature", 0x1f0, 0x8>,
    Field<"op_own", 0x1f8, 0x8>> {};

// clang-format on

// MLX5_CQE_* (mlx5dv.h)
enum class CqeOpcode : std::uint8_t {
  REQ = 0,
  RESP_WR_IMM = 1,
  RESP_SEND = 2,
  RESP_SEND_IMM = 3,
  RESP_SEND_INV = 4,
  RESIZE_CQ = 5,
  NO_PACKET = 6,       // about the queue, and no packet of its own
  SIGNATURE_ERR = 12,  // MLX5_CQE_SIG_ERR, which <signal.h> has as a macro
  REQ_ERR = 13,
  RESP_ERR = 14,
  INVALID = 15,
};
[[nodiscard]] std::string_view name(CqeOpcode opcode) noexcept;

// MLX5_CQE_SYNDROME_* (mlx5dv.h)
enum class CqeSyndrome : std::uint8_t {
  LOCAL_LENGTH_ERR = 0x01,
  LOCAL_QP_OP_ERR = 0x02,
  LOCAL_PROT_ERR = 0x04,
  WR_FLUSH_ERR = 0x05,
  MW_BIND_ERR = 0x06,
  BAD_RESP_ERR = 0x10,
  LOCAL_ACCESS_ERR = 0x11,
  REMOTE_INVAL_REQ_ERR = 0x12,
  REMOTE_ACCESS_ERR = 0x13,
  REMOTE_OP_ERR = 0x14,
  TRANSPORT_RETRY_EXC_ERR = 0x15,
  RNR_RETRY_EXC_ERR = 0x16,
  REMOTE_ABORTED_ERR = 0x22,
};
[[nodiscard]] std::string_view name(CqeSyndrome syndrome) noexcept;

// IBV_WC_* (infiniband/verbs.h, enum ibv_wc_status)
enum class WcStatus : std::uint8_t {
  SUCCESS = 0,
  LOC_LEN_ERR = 1,
  LOC_QP_OP_ERR = 2,
  LOC_EEC_OP_ERR = 3,
  LOC_PROT_ERR = 4,
  WR_FLUSH_ERR = 5,
  MW_BIND_ERR = 6,
  BAD_RESP_ERR = 7,
  LOC_ACCESS_ERR = 8,
  REM_INV_REQ_ERR = 9,
  REM_ACCESS_ERR = 10,
  REM_OP_ERR = 11,
  RETRY_EXC_ERR = 12,
  RNR_RETRY_EXC_ERR = 13,
  LOC_RDD_VIOL_ERR = 14,
  REM_INV_RD_REQ_ERR = 15,
  REM_ABORT_ERR = 16,
  INV_EECN_ERR = 17,
  INV_EEC_STATE_ERR = 18,
  FATAL_ERR = 19,
  RESP_TIMEOUT_ERR = 20,
  GENERAL_ERR = 21,
};
/// "IBV_WC_REM_ACCESS_ERR".
[[nodiscard]] std::string_view name(WcStatus status) noexcept;

// IBV_WC_* (infiniband/verbs.h, enum ibv_wc_opcode)
enum class WcOpcode : std::uint8_t {
  SEND = 0,
  RDMA_WRITE = 1,
  RDMA_READ = 2,
  COMP_SWAP = 3,
  FETCH_ADD = 4,
  LOCAL_INV = 6,
  RECV = 128,
  RECV_RDMA_WITH_IMM = 129,
  DRIVER1 = 135,
};
/// "IBV_WC_RDMA_READ".
[[nodiscard]] std::string_view name(WcOpcode opcode) noexcept;
/// Receives have IBV_WC_RECV in their opcode (verbs.h, enum ibv_wc_opcode).
[[nodiscard]] constexpr bool is_receive(WcOpcode opcode) noexcept {
  return (static_cast<unsigned>(opcode) & static_cast<unsigned>(WcOpcode::RECV)) != 0;
}

/// What verbs calls an error CQE: mlx5_handle_error_cqe of rdma-core, GENERAL_ERR for the rest.
[[nodiscard]] WcStatus wc_status(CqeSyndrome syndrome) noexcept;

inline constexpr std::size_t kCqeBytes = 64;

/// op_own: opcode in the upper nibble, solicited event, owner bit (mlx5dv_get_cqe_opcode and
/// following).
[[nodiscard]] constexpr std::uint8_t op_own(CqeOpcode opcode, bool owner,
                                            bool solicited = false) noexcept {
  return static_cast<std::uint8_t>(static_cast<unsigned>(opcode) << 4 | (solicited ? 2u : 0u) |
                                   (owner ? 1u : 0u));
}
[[nodiscard]] constexpr CqeOpcode cqe_opcode(std::uint32_t op_own) noexcept {
  return CqeOpcode{static_cast<std::uint8_t>(op_own >> 4 & 0xf)};
}
/// Someone waits for solicited events (mlx5dv_get_cqe_se).
[[nodiscard]] constexpr bool cqe_solicited(std::uint32_t op_own) noexcept {
  return (op_own & 2) != 0;
}
/// 0 unless data, or other entries, stand in this one (mlx5dv_get_cqe_format).
[[nodiscard]] constexpr std::uint32_t cqe_format(std::uint32_t op_own) noexcept {
  return op_own >> 2 & 3;
}
[[nodiscard]] constexpr bool cqe_owner(std::uint32_t op_own) noexcept {
  return (op_own & 1) != 0;  // MLX5_CQE_OWNER_MASK
}
[[nodiscard]] constexpr bool cqe_is_error(std::uint32_t op_own) noexcept {
  const CqeOpcode opcode = cqe_opcode(op_own);
  return opcode == CqeOpcode::REQ_ERR || opcode == CqeOpcode::RESP_ERR;
}

/// The owner bit of the entry that consumer (or producer) index `index` names: it flips each time
/// the queue of 2^log_size entries wraps (get_sw_cqe of rdma-core).
[[nodiscard]] constexpr bool owner_bit(std::uint32_t index, std::uint32_t log_size) noexcept {
  return (index >> log_size & 1) != 0;
}
/// True when the entry at `index` belongs to software: written since the last wrap and not invalid.
[[nodiscard]] constexpr bool cqe_is_ready(std::uint32_t op_own, std::uint32_t index,
                                          std::uint32_t log_size) noexcept {
  return cqe_owner(op_own) == owner_bit(index, log_size) &&
         cqe_opcode(op_own) != CqeOpcode::INVALID;
}
/// op_own of a queue that no hardware has written yet.
inline constexpr std::uint8_t kCqeNeverWritten = op_own(CqeOpcode::INVALID, true);

/// sop_drop_qpn and s_wqe_opcode_qpn: the WQE's opcode above the QP number.
[[nodiscard]] constexpr std::uint32_t opcode_qpn(std::uint8_t wqe_opcode,
                                                 std::uint32_t qpn) noexcept {
  return std::uint32_t{wqe_opcode} << 24 | (qpn & 0xffffff);
}
[[nodiscard]] constexpr std::uint8_t cqe_wqe_opcode(std::uint32_t opcode_qpn) noexcept {
  return static_cast<std::uint8_t>(opcode_qpn >> 24);
}
[[nodiscard]] constexpr std::uint32_t cqe_qpn(std::uint32_t opcode_qpn) noexcept {
  return opcode_qpn & 0xffffff;
}
/// flags_rqpn of a datagram: its GRH, service level and source (handle_responder of rdma-core); on
/// Ethernet the IP version stands in place of the service level (mlx5_ib/cq.c).
[[nodiscard]] constexpr std::uint32_t flags_rqpn(bool grh, std::uint32_t sl_or_type,
                                                 std::uint32_t source_qpn) noexcept {
  return (grh ? 1U << 28 : 0) | (sl_or_type & 0xf) << 24 | (source_qpn & 0xffffff);
}
inline constexpr std::uint32_t kCqeRoceIpv6 = 1;  // MLX5_CQE_ROCE_L3_HEADER_TYPE_IPV6 (device.h)
inline constexpr std::uint32_t kCqeRoceIpv4 = 2;  // MLX5_CQE_ROCE_L3_HEADER_TYPE_IPV4

/// l4_hdr_type_etc: a VLAN tag was taken out, and stands in vlan_info (cqe_has_vlan of device.h).
inline constexpr std::uint8_t kCqeHasVlan = 0x1;

/// srqn_uidx: qpc.user_index of CQE version 1, the SRQ number of version 0.
[[nodiscard]] constexpr std::uint32_t cqe_user_index(std::uint32_t srqn_uidx) noexcept {
  return srqn_uidx & 0xffffff;
}

}  // namespace portcullis::prm
