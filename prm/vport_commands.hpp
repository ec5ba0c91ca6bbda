// SPDX-License-Identifier: BSD-3-Clause
//
// Commands on an InfiniBand port: HCA vport context, GID and P_Key tables, management datagrams.
// Source of every layout here: struct mlx5_ifc_NAME_bits of include/linux/mlx5/mlx5_ifc.h of Linux
// 6.1; tests/prm holds each against that header.
#pragma once

#include "prm/layout.hpp"

namespace portcullis::prm {

// One member a line, in the order of the header, so that the two can be read side by side.
// clang-format off
struct hca_vport_context : Layout<"hca_vport_context", 0x1000,
    Field<"field_select", 0x0, 0x20>,
    Reserved<0x20, 0xe0>,
    Field<"sm_virt_aware", 0x100, 0x1>,
    Field<"has_smi", 0x101, 0x1>,
    Field<"has_raw", 0x102, 0x1>,
    Field<"grh_required", 0x103, 0x1>,
    Reserved<0x104, 0xc>,
    Field<"port_physical_state", 0x110, 0x4>,
    Field<"vport_state_policy", 0x114, 0x4>,
    Field<"port_state", 0x118, 0x4>,
    Field<"vport_state", 0x11c, 0x4>,
    Reserved<0x120, 0x20>,
    Field<"system_image_guid", 0x140, 0x40>,
    Field<"port_guid", 0x180, 0x40>,
    Field<"node_guid", 0x1c0, 0x40>,
    Field<"cap_mask1", 0x200, 0x20>,
    Field<"cap_mask1_field_select", 0x220, 0x20>,
    Field<"cap_mask2", 0x240, 0x20>,
    Field<"cap_mask2_field_select", 0x260, 0x20>,
    Reserved<0x280, 0x80>,
    Field<"lid", 0x300, 0x10>,
    Reserved<0x310, 0x4>,
    Field<"init_type_reply", 0x314, 0x4>,
    Field<"lmc", 0x318, 0x3>,
    Field<"subnet_timeout", 0x31b, 0x5>,
    Field<"sm_lid", 0x320, 0x10>,
    Field<"sm_sl", 0x330, 0x4>,
    Reserved<0x334, 0xc>,
    Field<"qkey_violation_counter", 0x340, 0x10>,
    Field<"pkey_violation_counter", 0x350, 0x10>,
    Reserved<0x360, 0xca0>> {};

struct query_hca_vport_context_in : Layout<"query_hca_vport_context_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Field<"other_vport", 0x40, 0x1>,
    Reserved<0x41, 0xb>,
    Field<"port_num", 0x4c, 0x4>,
    Field<"vport_number", 0x50, 0x10>,
    Reserved<0x60, 0x20>> {};

struct query_hca_vport_context_out : Layout<"query_hca_vport_context_out", 0x1080,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x40>,
    Nested<"hca_vport_context", 0x80, hca_vport_context>> {};

struct modify_hca_vport_context_in : Layout<"modify_hca_vport_context_in", 0x1080,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Field<"other_vport", 0x40, 0x1>,
    Reserved<0x41, 0xb>,
    Field<"port_num", 0x4c, 0x4>,
    Field<"vport_number", 0x50, 0x10>,
    Reserved<0x60, 0x20>,
    Nested<"hca_vport_context", 0x80, hca_vport_context>> {};

struct modify_hca_vport_context_out : Layout<"modify_hca_vport_context_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x40>> {};

/// gid_index 0xffff asks for the whole table (mlx5_query_hca_vport_gid of mlx5/core/vport.c).
struct query_hca_vport_gid_in : Layout<"query_hca_vport_gid_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Field<"other_vport", 0x40, 0x1>,
    Reserved<0x41, 0xb>,
    Field<"port_num", 0x4c, 0x4>,
    Field<"vport_number", 0x50, 0x10>,
    Reserved<0x60, 0x10>,
    Field<"gid_index", 0x70, 0x10>> {};

/// Followed by gid[], 16 bytes each.
struct query_hca_vport_gid_out : Layout<"query_hca_vport_gid_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x20>,
    Field<"gids_num", 0x60, 0x10>,
    Reserved<0x70, 0x10>> {};

/// pkey_index 0xffff asks for the whole table (mlx5_query_hca_vport_pkey of mlx5/core/vport.c).
struct query_hca_vport_pkey_in : Layout<"query_hca_vport_pkey_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Field<"other_vport", 0x40, 0x1>,
    Reserved<0x41, 0xb>,
    Field<"port_num", 0x4c, 0x4>,
    Field<"vport_number", 0x50, 0x10>,
    Reserved<0x60, 0x10>,
    Field<"pkey_index", 0x70, 0x10>> {};

/// Followed by pkey[], a dword each with the P_Key in its low half.
struct query_hca_vport_pkey_out : Layout<"query_hca_vport_pkey_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x40>> {};

struct pkey : Layout<"pkey", 0x20,
    Reserved<0x0, 0x10>,
    Field<"pkey", 0x10, 0x10>> {};

struct mad_ifc_in : Layout<"mad_ifc_in", 0x880,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Field<"remote_lid", 0x40, 0x10>,
    Reserved<0x50, 0x8>,
    Field<"port", 0x58, 0x8>,
    Reserved<0x60, 0x20>,
    Bytes<"mad", 0x80, 0x800>> {};

struct mad_ifc_out : Layout<"mad_ifc_out", 0x880,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x40>,
    Bytes<"response_mad_packet", 0x80, 0x800>> {};
// clang-format on

}  // namespace portcullis::prm
