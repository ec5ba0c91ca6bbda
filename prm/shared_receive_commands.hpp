// SPDX-License-Identifier: BSD-3-Clause
//
// What more than one queue pair receives by: XRC domains, XRC shared receive queues, the receive
// memory pool (RMP), as which Linux makes every other shared receive queue (create_srq_split of
// mlx5_ib/srq_cmd.c), and the multicast group (mlx5_cmd_attach_mcg of mlx5_ib/cmd.c).
// Source of every layout here: struct mlx5_ifc_NAME_bits of include/linux/mlx5/mlx5_ifc.h of Linux
// 6.1; tests/prm holds each against that header.
#pragma once

#include <cstdint>

#include "prm/cmd_interface.hpp"
#include "prm/layout.hpp"
#include "prm/receive_commands.hpp"

namespace portcullis::prm {

// MLX5_RMPC_STATE_* (mlx5_ifc.h; rmpc.state and modify_rmp_in.rmp_state)
enum class RmpState : std::uint8_t { RDY = 0x1, ERR = 0x3 };

// MLX5_ARM_XRC_SRQ_IN_OP_MOD_XRC_SRQ (mlx5_ifc.h; arm_xrc_srq_in.op_mod)
inline constexpr std::uint16_t kArmXrcSrq = 0x1;

// One member a line, in the order of the header, so that the two can be read side by side.
// clang-format off
// ---- XRC domains ----

struct alloc_xrcd_in : Layout<"alloc_xrcd_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x40>> {};

struct alloc_xrcd_out : Layout<"alloc_xrcd_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x8>,
    Field<"xrcd", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct dealloc_xrcd_in : Layout<"dealloc_xrcd_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"xrcd", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct dealloc_xrcd_out : status_out<"dealloc_xrcd_out"> {};

// ---- XRC shared receive queues ----

struct xrc_srqc : Layout<"xrc_srqc", 0x200,
    Field<"state", 0x0, 0x4>,
    Field<"log_xrc_srq_size", 0x4, 0x4>,
    Reserved<0x8, 0x18>,
    Field<"wq_signature", 0x20, 0x1>,
    Field<"cont_srq", 0x21, 0x1>,
    Reserved<0x22, 0x1>,
    Field<"rlky", 0x23, 0x1>,
    Field<"basic_cyclic_rcv_wqe", 0x24, 0x1>,
    Field<"log_rq_stride", 0x25, 0x3>,
    Field<"xrcd", 0x28, 0x18>,
    Field<"page_offset", 0x40, 0x6>,
    Reserved<0x46, 0x1>,
    Field<"dbr_umem_valid", 0x47, 0x1>,
    Field<"cqn", 0x48, 0x18>,
    Reserved<0x60, 0x20>,
    Field<"user_index_equal_xrc_srqn", 0x80, 0x1>,
    Reserved<0x81, 0x1>,
    Field<"log_page_size", 0x82, 0x6>,
    Field<"user_index", 0x88, 0x18>,
    Reserved<0xa0, 0x20>,
    Reserved<0xc0, 0x8>,
    Field<"pd", 0xc8, 0x18>,
    Field<"lwm", 0xe0, 0x10>,
    Field<"wqe_cnt", 0xf0, 0x10>,
    Reserved<0x100, 0x40>,
    Field<"db_record_addr_h", 0x140, 0x20>,
    Field<"db_record_addr_l", 0x160, 0x1e>,
    Reserved<0x17e, 0x2>,
    Reserved<0x180, 0x80>> {};

/// Followed by pas[], the pages of the queue.
struct create_xrc_srq_in : Layout<"create_xrc_srq_in", 0x880,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x40>,
    Nested<"xrc_srq_context_entry", 0x80, xrc_srqc>,
    Reserved<0x280, 0x60>,
    Field<"xrc_srq_umem_valid", 0x2e0, 0x1>,
    Reserved<0x2e1, 0x1f>,
    Reserved<0x300, 0x580>> {};

struct create_xrc_srq_out : Layout<"create_xrc_srq_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x8>,
    Field<"xrc_srqn", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct destroy_xrc_srq_in : Layout<"destroy_xrc_srq_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"xrc_srqn", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct destroy_xrc_srq_out : status_out<"destroy_xrc_srq_out"> {};

struct query_xrc_srq_in : Layout<"query_xrc_srq_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"xrc_srqn", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

/// Followed by pas[].
struct query_xrc_srq_out : Layout<"query_xrc_srq_out", 0x880,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x40>,
    Nested<"xrc_srq_context_entry", 0x80, xrc_srqc>,
    Reserved<0x280, 0x600>> {};

struct arm_xrc_srq_in : Layout<"arm_xrc_srq_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"xrc_srqn", 0x48, 0x18>,
    Reserved<0x60, 0x10>,
    Field<"lwm", 0x70, 0x10>> {};

struct arm_xrc_srq_out : status_out<"arm_xrc_srq_out"> {};

// ---- receive memory pools ----

/// Its wq is followed by pas[].
struct rmpc : Layout<"rmpc", 0x780,
    Reserved<0x0, 0x8>,
    Field<"state", 0x8, 0x4>,
    Reserved<0xc, 0x14>,
    Field<"basic_cyclic_rcv_wqe", 0x20, 0x1>,
    Reserved<0x21, 0x1f>,
    Reserved<0x40, 0x140>,
    Nested<"wq", 0x180, wq>> {};

struct create_rmp_in : Layout<"create_rmp_in", 0x880,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0xc0>,
    Nested<"ctx", 0x100, rmpc>> {};

struct create_rmp_out : Layout<"create_rmp_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x8>,
    Field<"rmpn", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct rmp_bitmask : Layout<"rmp_bitmask", 0x40,
    Reserved<0x0, 0x20>,
    Reserved<0x20, 0x1f>,
    Field<"lwm", 0x3f, 0x1>> {};

struct modify_rmp_in : Layout<"modify_rmp_in", 0x880,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Field<"rmp_state", 0x40, 0x4>,
    Reserved<0x44, 0x4>,
    Field<"rmpn", 0x48, 0x18>,
    Reserved<0x60, 0x20>,
    Nested<"bitmask", 0x80, rmp_bitmask>,
    Reserved<0xc0, 0x40>,
    Nested<"ctx", 0x100, rmpc>> {};

struct modify_rmp_out : status_out<"modify_rmp_out"> {};

struct destroy_rmp_in : Layout<"destroy_rmp_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"rmpn", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct destroy_rmp_out : status_out<"destroy_rmp_out"> {};

struct query_rmp_in : Layout<"query_rmp_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"rmpn", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct query_rmp_out : Layout<"query_rmp_out", 0x880,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0xc0>,
    Nested<"rmp_context", 0x100, rmpc>> {};

// ---- multicast groups ----

struct attach_to_mcg_in : Layout<"attach_to_mcg_in", 0x100,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"qpn", 0x48, 0x18>,
    Reserved<0x60, 0x20>,
    Bytes<"multicast_gid", 0x80, 0x80>> {};

struct attach_to_mcg_out : status_out<"attach_to_mcg_out"> {};

struct detach_from_mcg_in : Layout<"detach_from_mcg_in", 0x100,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"qpn", 0x48, 0x18>,
    Reserved<0x60, 0x20>,
    Bytes<"multicast_gid", 0x80, 0x80>> {};

struct detach_from_mcg_out : status_out<"detach_from_mcg_out"> {};

// clang-format on
}  // namespace portcullis::prm
