// SPDX-License-Identifier: BSD-3-Clause
//
// Commands on queue pairs: creation, every transition, query, with context and address path.
// Source of every layout here: struct mlx5_ifc_NAME_bits of include/linux/mlx5/mlx5_ifc.h of Linux
// 6.1; tests/prm holds each against that header. Where that header keeps a DevX field reserved, the
// source is rdma-core's tests/mlx5_prm_structs.py, named beside the field.
#pragma once

#include "prm/cmd_interface.hpp"
#include "prm/layout.hpp"

namespace portcullis::prm {

// One member a line, in the order of the header, so that the two can be read side by side.
// clang-format off
struct ads : Layout<"ads", 0x160,
    Field<"fl", 0x0, 0x1>,
    Field<"free_ar", 0x1, 0x1>,
    Reserved<0x2, 0xe>,
    Field<"pkey_index", 0x10, 0x10>,
    Reserved<0x20, 0x8>,
    Field<"grh", 0x28, 0x1>,
    Field<"mlid", 0x29, 0x7>,
    Field<"rlid", 0x30, 0x10>,
    Field<"ack_timeout", 0x40, 0x5>,
    Reserved<0x45, 0x3>,
    Field<"src_addr_index", 0x48, 0x8>,
    Reserved<0x50, 0x4>,
    Field<"stat_rate", 0x54, 0x4>,
    Field<"hop_limit", 0x58, 0x8>,
    Reserved<0x60, 0x4>,
    Field<"tclass", 0x64, 0x8>,
    Field<"flow_label", 0x6c, 0x14>,
    Bytes<"rgid_rip", 0x80, 0x80>,
    Reserved<0x100, 0x4>,
    Field<"f_dscp", 0x104, 0x1>,
    Field<"f_ecn", 0x105, 0x1>,
    Reserved<0x106, 0x1>,
    Field<"f_eth_prio", 0x107, 0x1>,
    Field<"ecn", 0x108, 0x2>,
    Field<"dscp", 0x10a, 0x6>,
    Field<"udp_sport", 0x110, 0x10>,
    Field<"dei_cfi", 0x120, 0x1>,
    Field<"eth_prio", 0x121, 0x3>,
    Field<"sl", 0x124, 0x4>,
    Field<"vhca_port_num", 0x128, 0x8>,
    Field<"rmac_47_32", 0x130, 0x10>,
    Field<"rmac_31_0", 0x140, 0x20>> {};

struct qpc : Layout<"qpc", 0x740,
    Field<"state", 0x0, 0x4>,
    Field<"lag_tx_port_affinity", 0x4, 0x4>,
    Field<"st", 0x8, 0x8>,
    Reserved<0x10, 0x2>,
    Field<"isolate_vl_tc", 0x12, 0x1>,
    Field<"pm_state", 0x13, 0x2>,
    Reserved<0x15, 0x1>,
    Field<"req_e2e_credit_mode", 0x16, 0x2>,
    Field<"offload_type", 0x18, 0x4>,
    Field<"end_padding_mode", 0x1c, 0x2>,
    Reserved<0x1e, 0x2>,
    Field<"wq_signature", 0x20, 0x1>,
    Field<"block_lb_mc", 0x21, 0x1>,
    Field<"atomic_like_write_en", 0x22, 0x1>,
    Field<"latency_sensitive", 0x23, 0x1>,
    Reserved<0x24, 0x1>,
    Field<"drain_sigerr", 0x25, 0x1>,
    Reserved<0x26, 0x2>,
    Field<"pd", 0x28, 0x18>,
    Field<"mtu", 0x40, 0x3>,
    Field<"log_msg_max", 0x43, 0x5>,
    Reserved<0x48, 0x1>,
    Field<"log_rq_size", 0x49, 0x4>,
    Field<"log_rq_stride", 0x4d, 0x3>,
    Field<"no_sq", 0x50, 0x1>,
    Field<"log_sq_size", 0x51, 0x4>,
    Reserved<0x55, 0x3>,
    Field<"ts_format", 0x58, 0x2>,
    Reserved<0x5a, 0x1>,
    Field<"rlky", 0x5b, 0x1>,
    Field<"ulp_stateless_offload_mode", 0x5c, 0x4>,
    Field<"counter_set_id", 0x60, 0x8>,
    Field<"uar_page", 0x68, 0x18>,
    Reserved<0x80, 0x8>,
    Field<"user_index", 0x88, 0x18>,
    Reserved<0xa0, 0x3>,
    Field<"log_page_size", 0xa3, 0x5>,
    Field<"remote_qpn", 0xa8, 0x18>,
    Nested<"primary_address_path", 0xc0, ads>,
    Nested<"secondary_address_path", 0x220, ads>,
    Field<"log_ack_req_freq", 0x380, 0x4>,
    Reserved<0x384, 0x4>,
    Field<"log_sra_max", 0x388, 0x3>,
    Reserved<0x38b, 0x2>,
    Field<"retry_count", 0x38d, 0x3>,
    Field<"rnr_retry", 0x390, 0x3>,
    Reserved<0x393, 0x1>,
    Field<"fre", 0x394, 0x1>,
    Field<"cur_rnr_retry", 0x395, 0x3>,
    Field<"cur_retry_count", 0x398, 0x3>,
    Reserved<0x39b, 0x2d>,
    Field<"next_send_psn", 0x3c8, 0x18>,
    Reserved<0x3e0, 0x3>,
    Field<"log_num_dci_stream_channels", 0x3e3, 0x5>,
    Field<"cqn_snd", 0x3e8, 0x18>,
    Reserved<0x400, 0x3>,
    Field<"log_num_dci_errored_streams", 0x403, 0x5>,
    Field<"deth_sqpn", 0x408, 0x18>,
    Reserved<0x420, 0x28>,
    Field<"last_acked_psn", 0x448, 0x18>,
    Reserved<0x460, 0x8>,
    Field<"ssn", 0x468, 0x18>,
    Reserved<0x480, 0x8>,
    Field<"log_rra_max", 0x488, 0x3>,
    Reserved<0x48b, 0x1>,
    Field<"atomic_mode", 0x48c, 0x4>,
    Field<"rre", 0x490, 0x1>,
    Field<"rwe", 0x491, 0x1>,
    Field<"rae", 0x492, 0x1>,
    Reserved<0x493, 0x1>,
    Field<"page_offset", 0x494, 0x6>,
    Reserved<0x49a, 0x3>,
    Field<"cd_slave_receive", 0x49d, 0x1>,
    Field<"cd_slave_send", 0x49e, 0x1>,
    Field<"cd_master", 0x49f, 0x1>,
    Reserved<0x4a0, 0x3>,
    Field<"min_rnr_nak", 0x4a3, 0x5>,
    Field<"next_rcv_psn", 0x4a8, 0x18>,
    Reserved<0x4c0, 0x8>,
    Field<"xrcd", 0x4c8, 0x18>,
    Reserved<0x4e0, 0x8>,
    Field<"cqn_rcv", 0x4e8, 0x18>,
    Field<"dbr_addr", 0x500, 0x40>,
    Field<"q_key", 0x540, 0x20>,
    Reserved<0x560, 0x5>,
    Field<"rq_type", 0x565, 0x3>,
    Field<"srqn_rmpn_xrqn", 0x568, 0x18>,
    Reserved<0x580, 0x8>,
    Field<"rmsn", 0x588, 0x18>,
    Field<"hw_sq_wqebb_counter", 0x5a0, 0x10>,
    Field<"sw_sq_wqebb_counter", 0x5b0, 0x10>,
    Field<"hw_rq_counter", 0x5c0, 0x20>,
    Field<"sw_rq_counter", 0x5e0, 0x20>,
    Reserved<0x600, 0x2f>,
    Field<"cgs", 0x62f, 0x1>,
    Field<"cs_req", 0x630, 0x8>,
    Field<"cs_res", 0x638, 0x8>,
    Field<"dc_access_key", 0x640, 0x40>,
    Reserved<0x680, 0x3>,
    Field<"dbr_umem_valid", 0x683, 0x1>,
    Reserved<0x684, 0x9c>,
    Field<"dbr_umem_id", 0x720, 0x20>> {};  // SwQpc of mlx5_prm_structs.py

struct create_qp_in : Layout<"create_qp_in", 0x880,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"input_qpn", 0x48, 0x18>,
    Reserved<0x60, 0x20>,
    Field<"opt_param_mask", 0x80, 0x20>,
    Field<"ece", 0xa0, 0x20>,
    Nested<"qpc", 0xc0, qpc>,
    Field<"wq_umem_offset", 0x800, 0x40>,  // CreateQpIn of mlx5_prm_structs.py
    Field<"wq_umem_id", 0x840, 0x20>,      // the same
    Field<"wq_umem_valid", 0x860, 0x1>,
    Reserved<0x861, 0x1f>> {};

struct create_qp_out : Layout<"create_qp_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x8>,
    Field<"qpn", 0x48, 0x18>,
    Field<"ece", 0x60, 0x20>> {};

/// Commands that name a QP and say nothing more.
template <Name kName>
using qpn_command_in = Layout<kName, 0x80,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"qpn", 0x48, 0x18>,
    Reserved<0x60, 0x20>>;
/// Transitions with a context. Enhanced connection establishment goes with those of today.
template <Name kName, class Ece, class... Rest>
using transition_with = Layout<kName, 0x880,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"qpn", 0x48, 0x18>,
    Reserved<0x60, 0x20>,
    Field<"opt_param_mask", 0x80, 0x20>,
    Ece,
    Nested<"qpc", 0xc0, qpc>,
    Rest...>;
template <Name kName>
using transition_in = transition_with<kName, Field<"ece", 0xa0, 0x20>, Reserved<0x800, 0x80>>;
template <Name kName>
using transition_in_without_ece = transition_with<kName, Reserved<0xa0, 0x20>,
                                                  Reserved<0x800, 0x80>>;
template <Name kName>
using transition_out = Layout<kName, 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x20>,
    Field<"ece", 0x60, 0x20>>;

struct destroy_qp_in : qpn_command_in<"destroy_qp_in"> {};
struct destroy_qp_out : status_out<"destroy_qp_out"> {};
struct rst2init_qp_in : transition_in<"rst2init_qp_in"> {};
struct rst2init_qp_out : transition_out<"rst2init_qp_out"> {};
struct init2init_qp_in : transition_in<"init2init_qp_in"> {};
struct init2init_qp_out : transition_out<"init2init_qp_out"> {};
struct init2rtr_qp_in : transition_in<"init2rtr_qp_in"> {};
struct init2rtr_qp_out : transition_out<"init2rtr_qp_out"> {};
struct rtr2rts_qp_in : transition_in<"rtr2rts_qp_in"> {};
struct rtr2rts_qp_out : transition_out<"rtr2rts_qp_out"> {};
/// The second mask: struct mlx5_ifc_rts2rts_qp_in_bits of rdma-core's providers/mlx5/mlx5_ifc.h.
struct rts2rts_qp_in : transition_with<"rts2rts_qp_in", Field<"ece", 0xa0, 0x20>,
    Reserved<0x800, 0x40>,
    Field<"opt_param_mask_95_32", 0x840, 0x40>> {};
struct rts2rts_qp_out : transition_out<"rts2rts_qp_out"> {};
/// MLX5_QPC_OPT_MASK_32_UDP_SPORT of the same header, in opt_param_mask_95_32.
inline constexpr std::uint64_t kOptPar32UdpSport = 1 << 2;
/// SQD_RTS_QP, and RTS2SQD_QP, of which no header of today has a layout.
struct sqd2rts_qp_in : transition_in_without_ece<"sqd2rts_qp_in"> {};
struct sqd2rts_qp_out : status_out<"sqd2rts_qp_out"> {};
struct sqerr2rts_qp_in : transition_in_without_ece<"sqerr2rts_qp_in"> {};
struct sqerr2rts_qp_out : status_out<"sqerr2rts_qp_out"> {};
struct qp_2err_in : qpn_command_in<"qp_2err_in"> {};
struct qp_2err_out : status_out<"qp_2err_out"> {};
struct qp_2rst_in : qpn_command_in<"qp_2rst_in"> {};
struct qp_2rst_out : status_out<"qp_2rst_out"> {};

struct query_qp_in : Layout<"query_qp_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"qpn", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct query_qp_out : Layout<"query_qp_out", 0x880,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x40>,
    Field<"opt_param_mask", 0x80, 0x20>,
    Field<"ece", 0xa0, 0x20>,
    Nested<"qpc", 0xc0, qpc>,
    Reserved<0x800, 0x80>> {};

// clang-format on
}  // namespace portcullis::prm
