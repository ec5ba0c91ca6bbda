// SPDX-License-Identifier: BSD-3-Clause
//
// Commands on UAR, PD, EQ, CQ, MKEY and UMEM, with their contexts.
// Source of every layout here: struct mlx5_ifc_NAME_bits of include/linux/mlx5/mlx5_ifc.h of Linux
// 6.1; tests/prm holds each against that header. Where that header keeps a DevX field reserved, the
// source is rdma-core's tests/mlx5_prm_structs.py, named beside the field.
#pragma once

#include <cstdint>

#include "prm/layout.hpp"

namespace portcullis::prm {

/// mlx5_stride_block_ctrl_seg.op, which stands where an entry of a plain list has its key.
inline constexpr std::uint32_t kStrideBlockOp = 0x400;  // MLX5_STRIDE_BLOCK_OP

// One member a line, in the order of the header, so that the two can be read side by side.
// clang-format off
struct alloc_uar_in : Layout<"alloc_uar_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x40>> {};

struct alloc_uar_out : Layout<"alloc_uar_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x8>,
    Field<"uar", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct dealloc_uar_in : Layout<"dealloc_uar_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"uar", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct dealloc_uar_out : Layout<"dealloc_uar_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x40>> {};

struct alloc_pd_in : Layout<"alloc_pd_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x40>> {};

struct alloc_pd_out : Layout<"alloc_pd_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x8>,
    Field<"pd", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct dealloc_pd_in : Layout<"dealloc_pd_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"pd", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct dealloc_pd_out : Layout<"dealloc_pd_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x40>> {};

struct eqc : Layout<"eqc", 0x200,
    Field<"status", 0x0, 0x4>,
    Reserved<0x4, 0x9>,
    Field<"ec", 0xd, 0x1>,
    Field<"oi", 0xe, 0x1>,
    Reserved<0xf, 0x5>,
    Field<"st", 0x14, 0x4>,
    Reserved<0x18, 0x3c>,
    Field<"page_offset", 0x54, 0x6>,
    Reserved<0x5a, 0x9>,
    Field<"log_eq_size", 0x63, 0x5>,
    Field<"uar_page", 0x68, 0x18>,
    Reserved<0x80, 0x34>,
    Field<"intr", 0xb4, 0xc>,
    Reserved<0xc0, 0x3>,
    Field<"log_page_size", 0xc3, 0x5>,
    Reserved<0xc8, 0x80>,
    Field<"consumer_counter", 0x148, 0x18>,
    Reserved<0x160, 0x8>,
    Field<"producer_counter", 0x168, 0x18>,
    Reserved<0x180, 0x80>> {};

struct create_eq_in : Layout<"create_eq_in", 0x880,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x40>,
    Nested<"eq_context_entry", 0x80, eqc>,
    Reserved<0x280, 0x40>,
    Bytes<"event_bitmask", 0x2c0, 0x100>,
    Reserved<0x3c0, 0x4c0>> {};

struct create_eq_out : Layout<"create_eq_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x18>,
    Field<"eq_number", 0x58, 0x8>,
    Reserved<0x60, 0x20>> {};

struct destroy_eq_in : Layout<"destroy_eq_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x18>,
    Field<"eq_number", 0x58, 0x8>,
    Reserved<0x60, 0x20>> {};

struct destroy_eq_out : Layout<"destroy_eq_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x40>> {};

struct query_eq_in : Layout<"query_eq_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x18>,
    Field<"eq_number", 0x58, 0x8>,
    Reserved<0x60, 0x20>> {};

struct query_eq_out : Layout<"query_eq_out", 0x880,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x40>,
    Nested<"eq_context_entry", 0x80, eqc>,
    Reserved<0x280, 0x40>,
    Bytes<"event_bitmask", 0x2c0, 0x40>,
    Reserved<0x300, 0x580>> {};

struct cqc : Layout<"cqc", 0x200,
    Field<"status", 0x0, 0x4>,
    Reserved<0x4, 0x2>,
    Field<"dbr_umem_valid", 0x6, 0x1>,
    Field<"apu_cq", 0x7, 0x1>,
    Field<"cqe_sz", 0x8, 0x3>,
    Field<"cc", 0xb, 0x1>,
    Reserved<0xc, 0x1>,
    Field<"scqe_break_moderation_en", 0xd, 0x1>,
    Field<"oi", 0xe, 0x1>,
    Field<"cq_period_mode", 0xf, 0x2>,
    Field<"cqe_comp_en", 0x11, 0x1>,
    Field<"mini_cqe_res_format", 0x12, 0x2>,
    Field<"st", 0x14, 0x4>,
    Reserved<0x18, 0x6>,
    Field<"cqe_compression_layout", 0x1e, 0x2>,
    Field<"dbr_umem_id", 0x20, 0x20>,  // SwCqc of mlx5_prm_structs.py
    Reserved<0x40, 0x14>,
    Field<"page_offset", 0x54, 0x6>,
    Reserved<0x5a, 0x9>,
    Field<"log_cq_size", 0x63, 0x5>,
    Field<"uar_page", 0x68, 0x18>,
    Reserved<0x80, 0x4>,
    Field<"cq_period", 0x84, 0xc>,
    Field<"cq_max_count", 0x90, 0x10>,
    Field<"c_eqn_or_apu_element", 0xa0, 0x20>,
    Reserved<0xc0, 0x3>,
    Field<"log_page_size", 0xc3, 0x5>,
    Reserved<0xc8, 0x40>,
    Field<"last_notified_index", 0x108, 0x18>,
    Reserved<0x120, 0x8>,
    Field<"last_solicit_index", 0x128, 0x18>,
    Reserved<0x140, 0x8>,
    Field<"consumer_counter", 0x148, 0x18>,
    Reserved<0x160, 0x8>,
    Field<"producer_counter", 0x168, 0x18>,
    Reserved<0x180, 0x40>,
    Field<"dbr_addr", 0x1c0, 0x40>> {};

struct create_cq_in : Layout<"create_cq_in", 0x880,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x40>,
    Nested<"cq_context", 0x80, cqc>,
    Field<"cq_umem_offset", 0x280, 0x40>,  // CreateCqIn of mlx5_prm_structs.py
    Field<"cq_umem_id", 0x2c0, 0x20>,      // the same
    Field<"cq_umem_valid", 0x2e0, 0x1>,
    Reserved<0x2e1, 0x59f>> {};

struct create_cq_out : Layout<"create_cq_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x8>,
    Field<"cqn", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct destroy_cq_in : Layout<"destroy_cq_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"cqn", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct destroy_cq_out : Layout<"destroy_cq_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x40>> {};

struct query_cq_in : Layout<"query_cq_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"cqn", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

/// Followed by pas[].
struct query_cq_out : Layout<"query_cq_out", 0x880,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x40>,
    Nested<"cq_context", 0x80, cqc>,
    Reserved<0x280, 0x600>> {};

/// Followed by pas[], when the queue is resized.
struct modify_cq_in : Layout<"modify_cq_in", 0x880,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"cqn", 0x48, 0x18>,
    Field<"modify_field_select_resize_field_select", 0x60, 0x20>,
    Nested<"cq_context", 0x80, cqc>,
    Reserved<0x280, 0x60>,
    Field<"cq_umem_valid", 0x2e0, 0x1>,
    Reserved<0x2e1, 0x1f>,
    Reserved<0x300, 0x580>> {};

struct modify_cq_out : Layout<"modify_cq_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x40>> {};

struct mkc : Layout<"mkc", 0x200,
    Reserved<0x0, 0x1>,
    Field<"free", 0x1, 0x1>,
    Reserved<0x2, 0x1>,
    Field<"access_mode_4_2", 0x3, 0x3>,
    Reserved<0x6, 0x7>,
    Field<"relaxed_ordering_write", 0xd, 0x1>,
    Reserved<0xe, 0x1>,
    Field<"small_fence_on_rdma_read_response", 0xf, 0x1>,
    Field<"umr_en", 0x10, 0x1>,
    Field<"a", 0x11, 0x1>,
    Field<"rw", 0x12, 0x1>,
    Field<"rr", 0x13, 0x1>,
    Field<"lw", 0x14, 0x1>,
    Field<"lr", 0x15, 0x1>,
    Field<"access_mode_1_0", 0x16, 0x2>,
    Reserved<0x18, 0x2>,
    Field<"ma_translation_mode", 0x1a, 0x2>,
    Reserved<0x1c, 0x4>,
    Field<"qpn", 0x20, 0x18>,
    Field<"mkey_7_0", 0x38, 0x8>,
    Reserved<0x40, 0x20>,
    Field<"length64", 0x60, 0x1>,
    Field<"bsf_en", 0x61, 0x1>,
    Field<"sync_umr", 0x62, 0x1>,
    Reserved<0x63, 0x2>,
    Field<"expected_sigerr_count", 0x65, 0x1>,
    Reserved<0x66, 0x1>,
    Field<"en_rinval", 0x67, 0x1>,
    Field<"pd", 0x68, 0x18>,
    Field<"start_addr", 0x80, 0x40>,
    Field<"len", 0xc0, 0x40>,
    Field<"bsf_octword_size", 0x100, 0x20>,
    Reserved<0x120, 0x80>,
    Field<"translations_octword_size", 0x1a0, 0x20>,
    Reserved<0x1c0, 0x19>,
    Field<"relaxed_ordering_read", 0x1d9, 0x1>,
    Reserved<0x1da, 0x1>,
    Field<"log_page_size", 0x1db, 0x5>,
    Reserved<0x1e0, 0x20>> {};

/// An entry of an indirect key: `bcount` bytes of `key` from `va` on (struct mlx5_klm, qp.h).
struct mlx5_klm : Layout<"mlx5_klm", 0x80,
    Field<"bcount", 0x0, 0x20>,
    Field<"key", 0x20, 0x20>,
    Field<"va", 0x40, 0x40>> {};

/// A list of translations that begins with a control entry is a pattern: `num_entries` entries,
/// gone through `repeat_count` times (struct mlx5_stride_block_ctrl_seg, qp.h).
struct mlx5_stride_block_ctrl_seg : Layout<"mlx5_stride_block_ctrl_seg", 0x80,
    Field<"bcount_per_cycle", 0x0, 0x20>,
    Field<"op", 0x20, 0x20>,
    Field<"repeat_count", 0x40, 0x20>,
    Reserved<0x60, 0x10>,
    Field<"num_entries", 0x70, 0x10>> {};

struct mlx5_stride_block_entry : Layout<"mlx5_stride_block_entry", 0x80,
    Field<"stride", 0x0, 0x10>,
    Field<"bcount", 0x10, 0x10>,
    Field<"key", 0x20, 0x20>,
    Field<"va", 0x40, 0x40>> {};

struct create_mkey_in : Layout<"create_mkey_in", 0x880,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x20>,
    Field<"pg_access", 0x60, 0x1>,
    Field<"mkey_umem_valid", 0x61, 0x1>,
    Reserved<0x62, 0x1e>,
    Nested<"memory_key_mkey_entry", 0x80, mkc>,
    Reserved<0x280, 0x80>,
    Field<"translations_octword_actual_size", 0x300, 0x20>,
    Field<"mkey_umem_id", 0x320, 0x20>,  // CreateMkeyIn of rdma-core's mlx5_prm_structs.py
    Field<"mkey_umem_offset", 0x340, 0x40>,  // the same
    Reserved<0x380, 0x500>> {};

struct create_mkey_out : Layout<"create_mkey_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x8>,
    Field<"mkey_index", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct destroy_mkey_in : Layout<"destroy_mkey_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"mkey_index", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct destroy_mkey_out : Layout<"destroy_mkey_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x40>> {};

struct query_mkey_in : Layout<"query_mkey_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"mkey_index", 0x48, 0x18>,
    Field<"pg_access", 0x60, 0x1>,
    Reserved<0x61, 0x1f>> {};

struct query_mkey_out : Layout<"query_mkey_out", 0x980,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x40>,
    Nested<"memory_key_mkey_entry", 0x80, mkc>,
    Reserved<0x280, 0x600>,
    Bytes<"bsf0_klm0_pas_mtt0_1", 0x880, 0x80>,
    Bytes<"bsf1_klm1_pas_mtt2_3", 0x900, 0x80>> {};

struct query_special_contexts_in : Layout<"query_special_contexts_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x40>> {};

struct query_special_contexts_out : Layout<"query_special_contexts_out", 0x100,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Field<"dump_fill_mkey", 0x40, 0x20>,
    Field<"resd_lkey", 0x60, 0x20>,
    Field<"null_mkey", 0x80, 0x20>,
    Reserved<0xa0, 0x60>> {};

/// Followed by mtt[]: a page's address with EN_RD and EN_WR in its low bits (create_umem of
/// mlx5_ib/devx.c).
struct umem : Layout<"umem", 0x100,
    Reserved<0x0, 0x80>,
    Field<"ats", 0x80, 0x1>,
    Reserved<0x81, 0x1a>,
    Field<"log_page_size", 0x9b, 0x5>,
    Field<"page_offset", 0xa0, 0x20>,
    Field<"num_of_mtt", 0xc0, 0x40>> {};

struct create_umem_in : Layout<"create_umem_in", 0x180,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x40>,
    Nested<"umem", 0x80, umem>> {};

struct create_umem_out : Layout<"create_umem_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x8>,
    Field<"umem_id", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct destroy_umem_in : Layout<"destroy_umem_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x8>,
    Field<"umem_id", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct destroy_umem_out : Layout<"destroy_umem_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x40>> {};

// clang-format on
}  // namespace portcullis::prm
