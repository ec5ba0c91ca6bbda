// SPDX-License-Identifier: BSD-3-Clause
//
// What flow steering forwards to: transport domains, receive queues (RQ) and the transport
// interface receive (TIR) in front of one.
// Source of every layout here: struct mlx5_ifc_NAME_bits of include/linux/mlx5/mlx5_ifc.h of Linux
// 6.1; tests/prm holds each against that header.
#pragma once

#include <cstdint>

#include "prm/cmd_interface.hpp"
#include "prm/layout.hpp"

namespace portcullis::prm {

// MLX5_WQ_TYPE_* (mlx5_ifc.h; wq.wq_type)
enum class WqType : std::uint8_t { LINKED_LIST = 0x0, CYCLIC = 0x1 };

// MLX5_RQC_MEM_RQ_TYPE_* (mlx5_ifc.h; rqc.mem_rq_type)
enum class MemRqType : std::uint8_t { MEMORY_RQ_INLINE = 0x0, MEMORY_RQ_RMP = 0x1 };

// MLX5_RQC_STATE_* (mlx5_ifc.h; rqc.state and modify_rq_in.rq_state)
enum class RqState : std::uint8_t { RST = 0x0, RDY = 0x1, ERR = 0x3 };

// MLX5_TIRC_DISP_TYPE_* (mlx5_ifc.h; tirc.disp_type)
enum class TirDispType : std::uint8_t { DIRECT = 0x0, INDIRECT = 0x1 };

// One member a line, in the order of the header, so that the two can be read side by side.
// clang-format off
// ---- transport domains ----

struct alloc_transport_domain_in : Layout<"alloc_transport_domain_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x40>> {};

struct alloc_transport_domain_out : Layout<"alloc_transport_domain_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x8>,
    Field<"transport_domain", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct dealloc_transport_domain_in : Layout<"dealloc_transport_domain_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"transport_domain", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct dealloc_transport_domain_out : status_out<"dealloc_transport_domain_out"> {};

// ---- receive queues ----

/// Followed by pas[], the pages of the queue. The umems' numbers are reserved in Linux 6.1's
/// mlx5_ifc.h; mlx5_ifc_wq_bits of DPDK's mlx5_prm.h has them.
struct wq : Layout<"wq", 0x600,
    Field<"wq_type", 0x0, 0x4>,
    Field<"wq_signature", 0x4, 0x1>,
    Field<"end_padding_mode", 0x5, 0x2>,
    Field<"cd_slave", 0x7, 0x1>,
    Reserved<0x8, 0x18>,
    Field<"hds_skip_first_sge", 0x20, 0x1>,
    Field<"log2_hds_buf_size", 0x21, 0x3>,
    Reserved<0x24, 0x7>,
    Field<"page_offset", 0x2b, 0x5>,
    Field<"lwm", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"pd", 0x48, 0x18>,
    Reserved<0x60, 0x8>,
    Field<"uar_page", 0x68, 0x18>,
    Field<"dbr_addr", 0x80, 0x40>,
    Field<"hw_counter", 0xc0, 0x20>,
    Field<"sw_counter", 0xe0, 0x20>,
    Reserved<0x100, 0xc>,
    Field<"log_wq_stride", 0x10c, 0x4>,
    Reserved<0x110, 0x3>,
    Field<"log_wq_pg_sz", 0x113, 0x5>,
    Reserved<0x118, 0x3>,
    Field<"log_wq_sz", 0x11b, 0x5>,
    Field<"dbr_umem_valid", 0x120, 0x1>,
    Field<"wq_umem_valid", 0x121, 0x1>,
    Reserved<0x122, 0x1>,
    Field<"log_hairpin_num_packets", 0x123, 0x5>,
    Reserved<0x128, 0x3>,
    Field<"log_hairpin_data_sz", 0x12b, 0x5>,
    Reserved<0x130, 0x4>,
    Field<"log_wqe_num_of_strides", 0x134, 0x4>,
    Field<"two_byte_shift_en", 0x138, 0x1>,
    Reserved<0x139, 0x4>,
    Field<"log_wqe_stride_size", 0x13d, 0x3>,
    Field<"dbr_umem_id", 0x140, 0x20>,
    Field<"wq_umem_id", 0x160, 0x20>,
    Field<"wq_umem_offset", 0x180, 0x40>,
    Field<"headers_mkey", 0x1c0, 0x20>,
    Field<"shampo_enable", 0x1e0, 0x1>,
    Reserved<0x1e1, 0x4>,
    Field<"log_reservation_size", 0x1e5, 0x3>,
    Reserved<0x1e8, 0x5>,
    Field<"log_max_num_of_packets_per_reservation", 0x1ed, 0x3>,
    Reserved<0x1f0, 0x6>,
    Field<"log_headers_entry_size", 0x1f6, 0x2>,
    Reserved<0x1f8, 0x4>,
    Field<"log_headers_buffer_entry_num", 0x1fc, 0x4>,
    Reserved<0x200, 0x400>> {};

struct rqc : Layout<"rqc", 0x780,
    Field<"rlky", 0x0, 0x1>,
    Field<"delay_drop_en", 0x1, 0x1>,
    Field<"scatter_fcs", 0x2, 0x1>,
    Field<"vsd", 0x3, 0x1>,
    Field<"mem_rq_type", 0x4, 0x4>,
    Field<"state", 0x8, 0x4>,
    Reserved<0xc, 0x1>,
    Field<"flush_in_error_en", 0xd, 0x1>,
    Field<"hairpin", 0xe, 0x1>,
    Reserved<0xf, 0xb>,
    Field<"ts_format", 0x1a, 0x2>,
    Reserved<0x1c, 0x4>,
    Reserved<0x20, 0x8>,
    Field<"user_index", 0x28, 0x18>,
    Reserved<0x40, 0x8>,
    Field<"cqn", 0x48, 0x18>,
    Field<"counter_set_id", 0x60, 0x8>,
    Reserved<0x68, 0x18>,
    Reserved<0x80, 0x8>,
    Field<"rmpn", 0x88, 0x18>,
    Reserved<0xa0, 0x8>,
    Field<"hairpin_peer_sq", 0xa8, 0x18>,
    Reserved<0xc0, 0x10>,
    Field<"hairpin_peer_vhca", 0xd0, 0x10>,
    Reserved<0xe0, 0x46>,
    Field<"shampo_no_match_alignment_granularity", 0x126, 0x2>,
    Reserved<0x128, 0x6>,
    Field<"shampo_match_criteria_type", 0x12e, 0x2>,
    Field<"reservation_timeout", 0x130, 0x10>,
    Reserved<0x140, 0x40>,
    Nested<"wq", 0x180, wq>> {};

struct create_rq_in : Layout<"create_rq_in", 0x880,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0xc0>,
    Nested<"ctx", 0x100, rqc>> {};

struct create_rq_out : Layout<"create_rq_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x8>,
    Field<"rqn", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

/// rq_state is the state that the queue is in, ctx.state the one that it goes to.
struct modify_rq_in : Layout<"modify_rq_in", 0x880,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Field<"rq_state", 0x40, 0x4>,
    Reserved<0x44, 0x4>,
    Field<"rqn", 0x48, 0x18>,
    Reserved<0x60, 0x20>,
    Field<"modify_bitmask", 0x80, 0x40>,
    Reserved<0xc0, 0x40>,
    Nested<"ctx", 0x100, rqc>> {};

struct modify_rq_out : status_out<"modify_rq_out"> {};

struct destroy_rq_in : Layout<"destroy_rq_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"rqn", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct destroy_rq_out : status_out<"destroy_rq_out"> {};

// ---- transport interface receive ----

struct rx_hash_field_select : Layout<"rx_hash_field_select", 0x20,
    Field<"l3_prot_type", 0x0, 0x1>,
    Field<"l4_prot_type", 0x1, 0x1>,
    Field<"selected_fields", 0x2, 0x1e>> {};

struct tirc : Layout<"tirc", 0x780,
    Reserved<0x0, 0x20>,
    Field<"disp_type", 0x20, 0x4>,
    Field<"tls_en", 0x24, 0x1>,
    Reserved<0x25, 0x1b>,
    Reserved<0x40, 0x40>,
    Reserved<0x80, 0x4>,
    Field<"lro_timeout_period_usecs", 0x84, 0x10>,
    Field<"packet_merge_mask", 0x94, 0x4>,
    Field<"lro_max_ip_payload_size", 0x98, 0x8>,
    Reserved<0xa0, 0x40>,
    Reserved<0xe0, 0x8>,
    Field<"inline_rqn", 0xe8, 0x18>,
    Field<"rx_hash_symmetric", 0x100, 0x1>,
    Reserved<0x101, 0x1>,
    Field<"tunneled_offload_en", 0x102, 0x1>,
    Reserved<0x103, 0x5>,
    Field<"indirect_table", 0x108, 0x18>,
    Field<"rx_hash_fn", 0x120, 0x4>,
    Reserved<0x124, 0x2>,
    Field<"self_lb_block", 0x126, 0x2>,
    Field<"transport_domain", 0x128, 0x18>,
    Bytes<"rx_hash_toeplitz_key", 0x140, 0x140>,
    Nested<"rx_hash_field_selector_outer", 0x280, rx_hash_field_select>,
    Nested<"rx_hash_field_selector_inner", 0x2a0, rx_hash_field_select>,
    Reserved<0x2c0, 0x4c0>> {};

struct create_tir_in : Layout<"create_tir_in", 0x880,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0xc0>,
    Nested<"ctx", 0x100, tirc>> {};

struct create_tir_out : Layout<"create_tir_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Field<"icm_address_63_40", 0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Field<"icm_address_39_32", 0x40, 0x8>,
    Field<"tirn", 0x48, 0x18>,
    Field<"icm_address_31_0", 0x60, 0x20>> {};

struct destroy_tir_in : Layout<"destroy_tir_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"tirn", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct destroy_tir_out : status_out<"destroy_tir_out"> {};

// clang-format on
}  // namespace portcullis::prm
