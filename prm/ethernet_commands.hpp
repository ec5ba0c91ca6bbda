// SPDX-License-Identifier: BSD-3-Clause
//
// The Ethernet data path by command: transport interface send (TIS), send queues (SQ), tables of
// receive queues (RQT), and what is done to an RQ and a TIR after they were made
// (prm/receive_commands.hpp).
// Source of every layout here: struct mlx5_ifc_NAME_bits of include/linux/mlx5/mlx5_ifc.h of Linux
// 6.1; tests/prm holds each against that header.
#pragma once

#include <cstdint>

#include "prm/cmd_interface.hpp"
#include "prm/enums.hpp"
#include "prm/layout.hpp"
#include "prm/receive_commands.hpp"

namespace portcullis::prm {

// MLX5_SQC_STATE_* (mlx5_ifc.h; sqc.state and modify_sq_in.sq_state)
enum class SqState : std::uint8_t { RST = 0x0, RDY = 0x1, ERR = 0x3 };

// MLX5_MODIFY_RQ_IN_MODIFY_BITMASK_* (mlx5_ifc.h; modify_rq_in.modify_bitmask)
enum class ModifyRq : std::uint8_t {
  VSD = 1 << 1,
  SCATTER_FCS = 1 << 2,
  RQ_COUNTER_SET_ID = 1 << 3
};

// MLX5_RX_HASH_FN_* (mlx5_ifc.h; tirc.rx_hash_fn)
enum class RxHashFn : std::uint8_t { NONE = 0x0, INVERTED_XOR8 = 0x1, TOEPLITZ = 0x2 };

// MLX5_L3_PROT_TYPE_* (device.h; rx_hash_field_select.l3_prot_type)
enum class RxHashL3 : std::uint8_t { IPV4 = 0, IPV6 = 1 };

// MLX5_L4_PROT_TYPE_* (device.h; rx_hash_field_select.l4_prot_type)
enum class RxHashL4 : std::uint8_t { TCP = 0, UDP = 1 };

// MLX5_HASH_FIELD_SEL_* (device.h; rx_hash_field_select.selected_fields)
enum class RxHashField : std::uint8_t {
  SRC_IP = 1 << 0,
  DST_IP = 1 << 1,
  L4_SPORT = 1 << 2,
  L4_DPORT = 1 << 3,
  IPSEC_SPI = 1 << 4,
};

// MLX5_TIRC_SELF_LB_BLOCK_* (mlx5_ifc.h; tirc.self_lb_block). A bit that is set lets what the
// function sends come back to this TIR, in spite of its name: mlx5_ib sets it for
// MLX5_QP_FLAG_TIR_ALLOW_SELF_LB_UC, mlx5e_refresh_tirs for enable_uc_lb.
enum class SelfLoopback : std::uint8_t {
  UNICAST = 0x1,    // MLX5_TIRC_SELF_LB_BLOCK_BLOCK_UNICAST
  MULTICAST = 0x2,  // MLX5_TIRC_SELF_LB_BLOCK_BLOCK_MULTICAST
};

// One member a line, in the order of the header, so that the two can be read side by side.
// clang-format off
// ---- transport interface send ----

struct tisc : Layout<"tisc", 0x500,
    Field<"strict_lag_tx_port_affinity", 0x0, 0x1>,
    Field<"tls_en", 0x1, 0x1>,
    Reserved<0x2, 0x2>,
    Field<"lag_tx_port_affinity", 0x4, 0x4>,
    Reserved<0x8, 0x4>,
    Field<"prio", 0xc, 0x4>,
    Reserved<0x10, 0x10>,
    Reserved<0x20, 0x100>,
    Reserved<0x120, 0x8>,
    Field<"transport_domain", 0x128, 0x18>,
    Reserved<0x140, 0x8>,
    Field<"underlay_qpn", 0x148, 0x18>,
    Reserved<0x160, 0x8>,
    Field<"pd", 0x168, 0x18>,
    Reserved<0x180, 0x380>> {};

struct create_tis_in : Layout<"create_tis_in", 0x600,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0xc0>,
    Nested<"ctx", 0x100, tisc>> {};

struct create_tis_out : Layout<"create_tis_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x8>,
    Field<"tisn", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct modify_tis_bitmask : Layout<"modify_tis_bitmask", 0x40,
    Reserved<0x0, 0x20>,
    Reserved<0x20, 0x1d>,
    Field<"lag_tx_port_affinity", 0x3d, 0x1>,
    Field<"strict_lag_tx_port_affinity", 0x3e, 0x1>,
    Field<"prio", 0x3f, 0x1>> {};

struct modify_tis_in : Layout<"modify_tis_in", 0x600,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"tisn", 0x48, 0x18>,
    Reserved<0x60, 0x20>,
    Nested<"bitmask", 0x80, modify_tis_bitmask>,
    Reserved<0xc0, 0x40>,
    Nested<"ctx", 0x100, tisc>> {};

struct modify_tis_out : status_out<"modify_tis_out"> {};

struct destroy_tis_in : Layout<"destroy_tis_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"tisn", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct destroy_tis_out : status_out<"destroy_tis_out"> {};

struct query_tis_in : Layout<"query_tis_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"tisn", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct query_tis_out : Layout<"query_tis_out", 0x580,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x40>,
    Nested<"tis_context", 0x80, tisc>> {};

// ---- send queues ----

/// Its wq is followed by pas[].
struct sqc : Layout<"sqc", 0x780,
    Field<"rlky", 0x0, 0x1>,
    Field<"cd_master", 0x1, 0x1>,
    Field<"fre", 0x2, 0x1>,
    Field<"flush_in_error_en", 0x3, 0x1>,
    Field<"allow_multi_pkt_send_wqe", 0x4, 0x1>,
    Field<"min_wqe_inline_mode", 0x5, 0x3>,
    Field<"state", 0x8, 0x4>,
    Field<"reg_umr", 0xc, 0x1>,
    Field<"allow_swp", 0xd, 0x1>,
    Field<"hairpin", 0xe, 0x1>,
    Reserved<0xf, 0xb>,
    Field<"ts_format", 0x1a, 0x2>,
    Reserved<0x1c, 0x4>,
    Reserved<0x20, 0x8>,
    Field<"user_index", 0x28, 0x18>,
    Reserved<0x40, 0x8>,
    Field<"cqn", 0x48, 0x18>,
    Reserved<0x60, 0x8>,
    Field<"hairpin_peer_rq", 0x68, 0x18>,
    Reserved<0x80, 0x10>,
    Field<"hairpin_peer_vhca", 0x90, 0x10>,
    Reserved<0xa0, 0x20>,
    Reserved<0xc0, 0x8>,
    Field<"ts_cqe_to_dest_cqn", 0xc8, 0x18>,
    Reserved<0xe0, 0x10>,
    Field<"packet_pacing_rate_limit_index", 0xf0, 0x10>,
    Field<"tis_lst_sz", 0x100, 0x10>,
    Field<"qos_queue_group_id", 0x110, 0x10>,
    Reserved<0x120, 0x40>,
    Reserved<0x160, 0x8>,
    Field<"tis_num_0", 0x168, 0x18>,
    Nested<"wq", 0x180, wq>> {};

struct create_sq_in : Layout<"create_sq_in", 0x880,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0xc0>,
    Nested<"ctx", 0x100, sqc>> {};

struct create_sq_out : Layout<"create_sq_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x8>,
    Field<"sqn", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

/// sq_state is the state that the queue is in, ctx.state the one that it goes to.
struct modify_sq_in : Layout<"modify_sq_in", 0x880,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Field<"sq_state", 0x40, 0x4>,
    Reserved<0x44, 0x4>,
    Field<"sqn", 0x48, 0x18>,
    Reserved<0x60, 0x20>,
    Field<"modify_bitmask", 0x80, 0x40>,
    Reserved<0xc0, 0x40>,
    Nested<"ctx", 0x100, sqc>> {};

struct modify_sq_out : status_out<"modify_sq_out"> {};

struct destroy_sq_in : Layout<"destroy_sq_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"sqn", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct destroy_sq_out : status_out<"destroy_sq_out"> {};

struct query_sq_in : Layout<"query_sq_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"sqn", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct query_sq_out : Layout<"query_sq_out", 0x880,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0xc0>,
    Nested<"sq_context", 0x100, sqc>> {};

// ---- tables of receive queues ----

struct rq_num : Layout<"rq_num", 0x20,
    Reserved<0x0, 0x8>,
    Field<"rq_num", 0x8, 0x18>> {};

/// Followed by rq_num[].
struct rqtc : Layout<"rqtc", 0x780,
    Reserved<0x0, 0xa0>,
    Reserved<0xa0, 0x5>,
    Field<"list_q_type", 0xa5, 0x3>,
    Reserved<0xa8, 0x8>,
    Field<"rqt_max_size", 0xb0, 0x10>,
    Field<"rq_vhca_id_format", 0xc0, 0x1>,
    Reserved<0xc1, 0xf>,
    Field<"rqt_actual_size", 0xd0, 0x10>,
    Reserved<0xe0, 0x6a0>> {};

struct create_rqt_in : Layout<"create_rqt_in", 0x880,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0xc0>,
    Nested<"rqt_context", 0x100, rqtc>> {};

struct create_rqt_out : Layout<"create_rqt_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x8>,
    Field<"rqtn", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct rqt_bitmask : Layout<"rqt_bitmask", 0x40,
    Reserved<0x0, 0x20>,
    Reserved<0x20, 0x1f>,
    Field<"rqn_list", 0x3f, 0x1>> {};

struct modify_rqt_in : Layout<"modify_rqt_in", 0x880,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"rqtn", 0x48, 0x18>,
    Reserved<0x60, 0x20>,
    Nested<"bitmask", 0x80, rqt_bitmask>,
    Reserved<0xc0, 0x40>,
    Nested<"ctx", 0x100, rqtc>> {};

struct modify_rqt_out : status_out<"modify_rqt_out"> {};

struct destroy_rqt_in : Layout<"destroy_rqt_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"rqtn", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct destroy_rqt_out : status_out<"destroy_rqt_out"> {};

struct query_rqt_in : Layout<"query_rqt_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"rqtn", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct query_rqt_out : Layout<"query_rqt_out", 0x880,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0xc0>,
    Nested<"rqt_context", 0x100, rqtc>> {};

// ---- receive queues and TIRs that are there ----

struct query_rq_in : Layout<"query_rq_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"rqn", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct query_rq_out : Layout<"query_rq_out", 0x880,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0xc0>,
    Nested<"rq_context", 0x100, rqc>> {};

struct modify_tir_bitmask : Layout<"modify_tir_bitmask", 0x40,
    Reserved<0x0, 0x20>,
    Reserved<0x20, 0x1b>,
    Field<"self_lb_en", 0x3b, 0x1>,
    Reserved<0x3c, 0x1>,
    Field<"hash", 0x3d, 0x1>,
    Reserved<0x3e, 0x1>,
    Field<"packet_merge", 0x3f, 0x1>> {};

struct modify_tir_in : Layout<"modify_tir_in", 0x880,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"tirn", 0x48, 0x18>,
    Reserved<0x60, 0x20>,
    Nested<"bitmask", 0x80, modify_tir_bitmask>,
    Reserved<0xc0, 0x40>,
    Nested<"ctx", 0x100, tirc>> {};

struct modify_tir_out : status_out<"modify_tir_out"> {};

struct query_tir_in : Layout<"query_tir_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"tirn", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct query_tir_out : Layout<"query_tir_out", 0x880,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0xc0>,
    Nested<"tir_context", 0x100, tirc>> {};

// clang-format on
}  // namespace portcullis::prm
