// SPDX-License-Identifier: BSD-3-Clause
//
// Commands that bring the function up and down: enable, ISSI, pages, capabilities, init, teardown,
// registers.
// Source of every layout here: struct mlx5_ifc_NAME_bits of include/linux/mlx5/mlx5_ifc.h of Linux
// 6.1; tests/prm holds each against that header.
#pragma once

#include <string_view>

#include "prm/layout.hpp"

namespace portcullis::prm {

// One member a line, in the order of the header, so that the two can be read side by side.
// clang-format off
struct enable_hca_in : Layout<"enable_hca_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Field<"embedded_cpu_function", 0x40, 0x1>,
    Reserved<0x41, 0xf>,
    Field<"function_id", 0x50, 0x10>,
    Reserved<0x60, 0x20>> {};

struct enable_hca_out : Layout<"enable_hca_out", 0x60,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x20>> {};

struct disable_hca_in : Layout<"disable_hca_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Field<"embedded_cpu_function", 0x40, 0x1>,
    Reserved<0x41, 0xf>,
    Field<"function_id", 0x50, 0x10>,
    Reserved<0x60, 0x20>> {};

struct disable_hca_out : Layout<"disable_hca_out", 0x60,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x20>> {};

struct query_issi_in : Layout<"query_issi_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x40>> {};

struct query_issi_out : Layout<"query_issi_out", 0x380,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x10>,
    Field<"current_issi", 0x50, 0x10>,
    Reserved<0x60, 0x300>,
    Field<"supported_issi_dw0", 0x360, 0x20>> {};

struct set_issi_in : Layout<"set_issi_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x10>,
    Field<"current_issi", 0x50, 0x10>,
    Reserved<0x60, 0x20>> {};

struct set_issi_out : Layout<"set_issi_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x40>> {};

struct query_pages_in : Layout<"query_pages_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Field<"embedded_cpu_function", 0x40, 0x1>,
    Reserved<0x41, 0xf>,
    Field<"function_id", 0x50, 0x10>,
    Reserved<0x60, 0x20>> {};

struct query_pages_out : Layout<"query_pages_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Field<"embedded_cpu_function", 0x40, 0x1>,
    Reserved<0x41, 0xf>,
    Field<"function_id", 0x50, 0x10>,
    Field<"num_pages", 0x60, 0x20>> {};

struct manage_pages_in : Layout<"manage_pages_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Field<"embedded_cpu_function", 0x40, 0x1>,
    Reserved<0x41, 0xf>,
    Field<"function_id", 0x50, 0x10>,
    Field<"input_num_entries", 0x60, 0x20>> {};

struct manage_pages_out : Layout<"manage_pages_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Field<"output_num_entries", 0x40, 0x20>,
    Reserved<0x60, 0x20>> {};

struct query_hca_cap_in : Layout<"query_hca_cap_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Field<"other_function", 0x40, 0x1>,
    Reserved<0x41, 0xf>,
    Field<"function_id", 0x50, 0x10>,
    Reserved<0x60, 0x20>> {};

struct query_hca_cap_out : Layout<"query_hca_cap_out", 0x8080,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x40>,
    Bytes<"capability", 0x80, 0x8000>> {};

struct set_hca_cap_in : Layout<"set_hca_cap_in", 0x8080,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Field<"other_function", 0x40, 0x1>,
    Reserved<0x41, 0xf>,
    Field<"function_id", 0x50, 0x10>,
    Reserved<0x60, 0x20>,
    Bytes<"capability", 0x80, 0x8000>> {};

struct set_hca_cap_out : Layout<"set_hca_cap_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x40>> {};

struct init_hca_in : Layout<"init_hca_in", 0x100,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x22>,
    Field<"sw_vhca_id", 0x62, 0xe>,
    Reserved<0x70, 0x10>,
    Bytes<"sw_owner_id", 0x80, 0x80>> {};

struct init_hca_out : Layout<"init_hca_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x40>> {};

struct teardown_hca_in : Layout<"teardown_hca_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x10>,
    Field<"profile", 0x50, 0x10>,
    Reserved<0x60, 0x20>> {};

struct teardown_hca_out : Layout<"teardown_hca_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x3f>,
    Field<"state", 0x7f, 0x1>> {};

struct query_adapter_in : Layout<"query_adapter_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x40>> {};

struct query_adapter_param_block : Layout<"query_adapter_param_block", 0x800,
    Reserved<0x0, 0xc8>,
    Field<"ieee_vendor_id", 0xc8, 0x18>,
    Reserved<0xe0, 0x10>,
    Field<"vsd_vendor_id", 0xf0, 0x10>,
    Bytes<"vsd", 0x100, 0x680>,
    Bytes<"vsd_contd_psid", 0x780, 0x80>> {};

/// What the ConnectX-5 in software has for a PSID; no card has it, so that no figure taken from it
/// passes for one of a card.
inline constexpr std::string_view kModelBoardId = "PORTCULLIS_MODEL";

struct query_adapter_out : Layout<"query_adapter_out", 0x880,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x40>,
    Nested<"query_adapter_struct", 0x80, query_adapter_param_block>> {};

struct access_register_in : Layout<"access_register_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x10>,
    Field<"register_id", 0x50, 0x10>,
    Field<"argument", 0x60, 0x20>> {};

struct access_register_out : Layout<"access_register_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x40>> {};

struct register_host_endianness : Layout<"register_host_endianness", 0x80,
    Field<"he", 0x0, 0x1>,
    Reserved<0x1, 0x7f>> {};

// clang-format on
}  // namespace portcullis::prm
