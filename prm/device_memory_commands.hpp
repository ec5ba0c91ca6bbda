// SPDX-License-Identifier: BSD-3-Clause
//
// Device memory ("MEMIC"): memory of the card that lies in BAR 0. Source of every layout here:
// struct mlx5_ifc_NAME_bits of include/linux/mlx5/mlx5_ifc.h of Linux 6.1; tests/prm holds each
// against that header. Its addresses are offsets into BAR 0: mlx5_cmd_alloc_memic of mlx5_ib/dm.c
// adds where the BAR begins (dev->bar_addr), and mlx5_ib_reg_dm_mr of mlx5_ib/mr.c takes that away
// again for a key.
#pragma once

#include <cstdint>

#include "prm/layout.hpp"

namespace portcullis::prm {

// One member a line, in the order of the header, so that the two can be read side by side.
// clang-format off

/// The capability page of type DEV_MEM.
struct device_mem_cap : Layout<"device_mem_cap", 0x800,
    Field<"memic", 0x0, 0x1>,
    Reserved<0x1, 0x2a>,
    Field<"log_min_memic_alloc_size", 0x2b, 0x5>,
    Reserved<0x30, 0x8>,
    Field<"log_max_memic_addr_alignment", 0x38, 0x8>,
    Field<"memic_bar_start_addr", 0x40, 0x40>,
    Field<"memic_bar_size", 0x80, 0x20>,
    Field<"max_memic_size", 0xa0, 0x20>,
    Field<"steering_sw_icm_start_address", 0xc0, 0x40>,
    Reserved<0x100, 0x8>,
    Field<"log_header_modify_sw_icm_size", 0x108, 0x8>,
    Reserved<0x110, 0x2>,
    Field<"log_sw_icm_alloc_granularity", 0x112, 0x6>,
    Field<"log_steering_sw_icm_size", 0x118, 0x8>,
    Reserved<0x120, 0x18>,
    Field<"log_header_modify_pattern_sw_icm_size", 0x138, 0x8>,
    Field<"header_modify_sw_icm_start_address", 0x140, 0x40>,
    Reserved<0x180, 0x40>,
    Field<"header_modify_pattern_sw_icm_start_address", 0x1c0, 0x40>,
    Field<"memic_operations", 0x200, 0x20>,
    Reserved<0x220, 0x5e0>> {};

struct alloc_memic_in : Layout<"alloc_memic_in", 0x100,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x38>,
    Field<"log_memic_addr_alignment", 0x78, 0x8>,
    Field<"range_start_addr", 0x80, 0x40>,
    Field<"range_size", 0xc0, 0x20>,
    Field<"memic_size", 0xe0, 0x20>> {};

struct alloc_memic_out : Layout<"alloc_memic_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Field<"memic_start_addr", 0x40, 0x40>> {};

struct dealloc_memic_in : Layout<"dealloc_memic_in", 0x100,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x40>,
    Field<"memic_start_addr", 0x80, 0x40>,
    Field<"memic_size", 0xc0, 0x20>,
    Reserved<0xe0, 0x20>> {};

struct dealloc_memic_out : Layout<"dealloc_memic_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x40>> {};
// clang-format on

/// The mode of a key of device memory: MkcAccessMode's other values, in enums.hpp, are host
/// memory's.
inline constexpr std::uint32_t kMkcModeMemic = 5;  // MLX5_MKC_ACCESS_MODE_MEMIC

/// "mlx5 device sets alignment as 64*2^driver_value" (mlx5_cmd_alloc_memic of mlx5_ib/dm.c).
inline constexpr std::uint32_t kLogMemicAlignmentUnit = 6;

}  // namespace portcullis::prm
