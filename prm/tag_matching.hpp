// SPDX-License-Identifier: BSD-3-Clause
//
// Tag matching in hardware. Commands of the shared receive queue that does it (XRQ; create_xrq_cmd
// and its neighbours in mlx5_ib/srq_cmd.c): struct mlx5_ifc_NAME_bits of
// include/linux/mlx5/mlx5_ifc.h of Linux 6.1. The segment by which a command QP changes the list,
// and what a CQE says of that: struct of the same name in infiniband/mlx5dv.h. What a message
// begins with: infiniband/tm_types.h. tests/prm holds each against those headers. What only the
// sources of libmlx5 name is said to be so.
#pragma once

#include <cstddef>
#include <cstdint>

#include "prm/cmd_interface.hpp"
#include "prm/layout.hpp"
#include "prm/receive_commands.hpp"

namespace portcullis::prm {

// MLX5_XRQC_STATE_* (mlx5_ifc.h; xrqc.state)
enum class XrqState : std::uint8_t { GOOD = 0x0, ERROR = 0x1 };
// MLX5_XRQC_TOPOLOGY_* (mlx5_ifc.h; xrqc.topology)
enum class XrqTopology : std::uint8_t { NO_SPECIAL_TOPOLOGY = 0x0, TAG_MATCHING = 0x1 };
inline constexpr std::uint8_t kXrqOffloadRndv = 0x1;  // MLX5_XRQC_OFFLOAD_RNDV
// qpc.offload_type: the queue pair's send half is the device's, for READs of rendezvous.
inline constexpr std::uint8_t kQpOffloadRndv = 0x1;  // MLX5_QPC_OFFLOAD_TYPE_RNDV
// arm_rq_in.op_mod
inline constexpr std::uint16_t kArmRqXrq = 0x2;  // MLX5_ARM_RQ_IN_OP_MOD_XRQ

// One member a line, in the order of the header, so that the two can be read side by side.
// clang-format off
struct tag_matching_topology_context : Layout<"tag_matching_topology_context", 0x80,
    Field<"log_matching_list_sz", 0x0, 0x4>,
    Reserved<0x4, 0xc>,
    Field<"append_next_index", 0x10, 0x10>,
    Field<"sw_phase_cnt", 0x20, 0x10>,
    Field<"hw_phase_cnt", 0x30, 0x10>,
    Reserved<0x40, 0x40>> {};

/// Its wq is followed by pas[].
struct xrqc : Layout<"xrqc", 0xa00,
    Field<"state", 0x0, 0x4>,
    Field<"rlkey", 0x4, 0x1>,
    Reserved<0x5, 0xf>,
    Field<"topology", 0x14, 0x4>,
    Reserved<0x18, 0x4>,
    Field<"offload", 0x1c, 0x4>,
    Reserved<0x20, 0x8>,
    Field<"user_index", 0x28, 0x18>,
    Reserved<0x40, 0x8>,
    Field<"cqn", 0x48, 0x18>,
    Reserved<0x60, 0xa0>,
    Nested<"tag_matching_topology_context", 0x100, tag_matching_topology_context>,
    Reserved<0x180, 0x280>,
    Nested<"wq", 0x400, wq>> {};

struct create_xrq_in : Layout<"create_xrq_in", 0xa80,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x40>,
    Nested<"xrq_context", 0x80, xrqc>> {};

struct create_xrq_out : Layout<"create_xrq_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x8>,
    Field<"xrqn", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct destroy_xrq_in : Layout<"destroy_xrq_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"xrqn", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct destroy_xrq_out : status_out<"destroy_xrq_out"> {};

struct query_xrq_in : Layout<"query_xrq_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"xrqn", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct query_xrq_out : Layout<"query_xrq_out", 0xa80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x40>,
    Nested<"xrq_context", 0x80, xrqc>> {};

struct arm_xrq_in : Layout<"arm_xrq_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"xrqn", 0x48, 0x18>,
    Reserved<0x60, 0x10>,
    Field<"lwm", 0x70, 0x10>> {};

struct arm_xrq_out : status_out<"arm_xrq_out"> {};

/// How Linux arms an XRQ: arm_xrq_cmd of mlx5_ib/srq_cmd.c.
struct arm_rq_in : Layout<"arm_rq_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"srq_number", 0x48, 0x18>,
    Reserved<0x60, 0x10>,
    Field<"lwm", 0x70, 0x10>> {};

struct arm_rq_out : status_out<"arm_rq_out"> {};

/// Behind a control segment of TAG_MATCHING; of an entry that is appended, before one data segment.
struct mlx5_wqe_tm_seg : Layout<"mlx5_wqe_tm_seg", 0x100,
    Field<"opcode", 0x0, 0x8>,
    Field<"flags", 0x8, 0x8>,
    Field<"index", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"sw_cnt", 0x30, 0x10>,
    Reserved<0x40, 0x40>,
    Field<"append_tag", 0x80, 0x40>,
    Field<"append_mask", 0xc0, 0x40>> {};

/// The first bytes of a CQE about the list. The struct counts 18 bytes and is padded to 20, of
/// which the CQE's own fields begin at 32.
struct mlx5_tm_cqe : Layout<"mlx5_tm_cqe", 0xa0,
    Field<"success", 0x0, 0x20>,
    Field<"hw_phase_cnt", 0x20, 0x10>,
    Reserved<0x30, 0x70>> {};

/// What a message with a tag begins with, and where it matched, the CQE (mlx5_cqe64 of mlx5dv.h:
/// "TMH is scattered to CQE upon match").
struct ibv_tmh : Layout<"ibv_tmh", 0x80,
    Field<"opcode", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"app_ctx", 0x20, 0x20>,
    Field<"tag", 0x40, 0x40>> {};

/// Behind it in a rendezvous request: where the data is.
struct ibv_rvh : Layout<"ibv_rvh", 0x80,
    Field<"va", 0x0, 0x40>,
    Field<"rkey", 0x40, 0x20>,
    Field<"len", 0x60, 0x20>> {};

// clang-format on

// IBV_TMH_* (tm_types.h; ibv_tmh.opcode)
enum class TmhOp : std::uint8_t { NO_TAG = 0, RNDV = 1, FIN = 2, EAGER = 3 };

// MLX5_TM_OPCODE_* (source file only: rdma-core's mlx5/mlx5.h; mlx5_wqe_tm_seg.opcode, its upper
// nibble)
enum class TmOpcode : std::uint8_t { NOP = 0x00, APPEND = 0x01, REMOVE = 0x02 };
[[nodiscard]] constexpr std::uint8_t tm_opcode_byte(TmOpcode opcode) noexcept {
  return static_cast<std::uint8_t>(static_cast<unsigned>(opcode) << 4);
}
[[nodiscard]] constexpr TmOpcode tm_opcode(std::uint32_t byte) noexcept {
  return TmOpcode{static_cast<std::uint8_t>(byte >> 4 & 0xf)};
}
// mlx5_wqe_tm_seg.flags: MLX5_SRQ_FLAG_TM_SW_CNT and _CQE_REQ of rdma-core's mlx5/mlx5.h.
inline constexpr std::uint8_t kTmSwCnt = 1 << 6;
inline constexpr std::uint8_t kTmCqeReq = 1 << 7;
inline constexpr std::uint32_t kTmcSuccess = 0x80000000;  // MLX5_TMC_SUCCESS

/// mlx5_cqe64.app: MLX5_CQE_APP_TAG_MATCHING of rdma-core's mlx5/cq.c.
inline constexpr std::uint8_t kCqeAppTagMatching = 1;
// MLX5_CQE_APP_OP_* (source file only: rdma-core's mlx5/cq.c; mlx5_cqe64.app_op)
enum class CqeAppOp : std::uint8_t {
  TM_CONSUMED = 0x1,
  TM_EXPECTED = 0x2,
  TM_UNEXPECTED = 0x3,
  TM_NO_TAG = 0x4,
  TM_APPEND = 0x5,
  TM_REMOVE = 0x6,
  TM_NOOP = 0x7,
  TM_CONSUMED_SW_RDNV = 0x9,
  TM_CONSUMED_MSG = 0xa,
  TM_CONSUMED_MSG_SW_RDNV = 0xb,
  TM_MSG_COMPLETION_CANCELED = 0xc,
};

/// max_rndv_hdr_size: MLX5_TM_MAX_RNDV_MSG_SIZE of mlx5_ib/mlx5_ib.h.
inline constexpr std::size_t kMaxRndvMessageBytes = 64;

}  // namespace portcullis::prm
