// SPDX-License-Identifier: BSD-3-Clause
//
// What entries of flow tables do to a frame: contexts of header changes and of packet reformat,
// which SET_FLOW_TABLE_ENTRY names, and the tag that an entry pushes.
// Source of every layout here: struct mlx5_ifc_NAME_bits of include/linux/mlx5/mlx5_ifc.h of Linux
// 6.1; tests/prm holds each against that header.
#pragma once

#include "prm/cmd_interface.hpp"
#include "prm/layout.hpp"

namespace portcullis::prm {

// One member a line, in the order of the header, so that the two can be read side by side.
// clang-format off
// ---- header changes ----

struct set_action_in : Layout<"set_action_in", 0x40,
    Field<"action_type", 0x0, 0x4>,
    Field<"field", 0x4, 0xc>,
    Reserved<0x10, 0x3>,
    Field<"offset", 0x13, 0x5>,
    Reserved<0x18, 0x3>,
    Field<"length", 0x1b, 0x5>,
    Field<"data", 0x20, 0x20>> {};

struct add_action_in : Layout<"add_action_in", 0x40,
    Field<"action_type", 0x0, 0x4>,
    Field<"field", 0x4, 0xc>,
    Reserved<0x10, 0x10>,
    Field<"data", 0x20, 0x20>> {};

struct copy_action_in : Layout<"copy_action_in", 0x40,
    Field<"action_type", 0x0, 0x4>,
    Field<"src_field", 0x4, 0xc>,
    Reserved<0x10, 0x3>,
    Field<"src_offset", 0x13, 0x5>,
    Reserved<0x18, 0x3>,
    Field<"length", 0x1b, 0x5>,
    Reserved<0x20, 0x4>,
    Field<"dst_field", 0x24, 0xc>,
    Reserved<0x30, 0x3>,
    Field<"dst_offset", 0x33, 0x5>,
    Reserved<0x38, 0x8>> {};

/// Followed by actions[]: num_of_actions times one of the three above.
struct alloc_modify_header_context_in : Layout<"alloc_modify_header_context_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x20>,
    Field<"table_type", 0x60, 0x8>,
    Reserved<0x68, 0x10>,
    Field<"num_of_actions", 0x78, 0x8>> {};

struct alloc_modify_header_context_out : Layout<"alloc_modify_header_context_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Field<"modify_header_id", 0x40, 0x20>,
    Reserved<0x60, 0x20>> {};

struct dealloc_modify_header_context_in : Layout<"dealloc_modify_header_context_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Field<"modify_header_id", 0x40, 0x20>,
    Reserved<0x60, 0x20>> {};

struct dealloc_modify_header_context_out : status_out<"dealloc_modify_header_context_out"> {};

// ---- packet reformat ----

/// The header begins in the context's last two bytes and goes on behind it, as more_reformat_data.
struct packet_reformat_context_in : Layout<"packet_reformat_context_in", 0x40,
    Field<"reformat_type", 0x0, 0x8>,
    Reserved<0x8, 0x4>,
    Field<"reformat_param_0", 0xc, 0x4>,
    Reserved<0x10, 0x6>,
    Field<"reformat_data_size", 0x16, 0xa>,
    Field<"reformat_param_1", 0x20, 0x8>,
    Reserved<0x28, 0x8>,
    Bytes<"reformat_data", 0x30, 0x10>> {};

struct alloc_packet_reformat_context_in : Layout<"alloc_packet_reformat_context_in", 0x120,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0xa0>,
    Nested<"packet_reformat_context", 0xe0, packet_reformat_context_in>> {};

struct alloc_packet_reformat_context_out : Layout<"alloc_packet_reformat_context_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Field<"packet_reformat_id", 0x40, 0x20>,
    Reserved<0x60, 0x20>> {};

struct dealloc_packet_reformat_context_in : Layout<"dealloc_packet_reformat_context_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Field<"packet_reformat_id", 0x40, 0x20>,
    Reserved<0x60, 0x20>> {};

struct dealloc_packet_reformat_context_out : status_out<"dealloc_packet_reformat_context_out"> {};

// ---- tags ----

/// flow_context.push_vlan.
struct vlan : Layout<"vlan", 0x20,
    Field<"ethtype", 0x0, 0x10>,
    Field<"prio", 0x10, 0x3>,
    Field<"cfi", 0x13, 0x1>,
    Field<"vid", 0x14, 0xc>> {};

// clang-format on
}  // namespace portcullis::prm
