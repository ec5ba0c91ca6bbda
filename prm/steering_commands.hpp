// SPDX-License-Identifier: BSD-3-Clause
//
// Steering by entries that a program writes itself ("software steering"): the memory that they
// stand in and what of firmware stands beside them. Source of every layout here: struct
// mlx5_ifc_NAME_bits of include/linux/mlx5/mlx5_ifc.h of Linux 6.1; tests/prm holds each against
// that header. The entries themselves are in prm/steering_entries.hpp.
#pragma once

#include <cstdint>

#include "prm/cmd_interface.hpp"
#include "prm/layout.hpp"
#include "prm/user_context_commands.hpp"

namespace portcullis::prm {

// One member a line, in the order of the header, so that the two can be read side by side.
// clang-format off
struct general_obj_out_cmd_hdr : Layout<"general_obj_out_cmd_hdr", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Field<"obj_id", 0x40, 0x20>,
    Reserved<0x60, 0x20>> {};

/// Memory of the card's that a program may write entries into.
struct sw_icm : Layout<"sw_icm", 0x200,
    Field<"modify_field_select", 0x0, 0x40>,
    Reserved<0x40, 0x18>,
    Field<"log_sw_icm_size", 0x58, 0x8>,
    Reserved<0x60, 0x20>,
    Field<"sw_icm_start_addr", 0x80, 0x40>,
    Reserved<0xc0, 0x140>> {};

/// One of so many packets goes to a table of its own, too.
struct sampler_obj : Layout<"sampler_obj", 0x1e0,
    Field<"modify_field_select", 0x0, 0x40>,
    Field<"table_type", 0x40, 0x8>,
    Field<"level", 0x48, 0x8>,
    Reserved<0x50, 0xf>,
    Field<"ignore_flow_level", 0x5f, 0x1>,
    Field<"sample_ratio", 0x60, 0x20>,
    Reserved<0x80, 0x8>,
    Field<"sample_table_id", 0x88, 0x18>,
    Reserved<0xa0, 0x8>,
    Field<"default_table_id", 0xa8, 0x18>,
    Field<"sw_steering_icm_address_rx", 0xc0, 0x40>,
    Field<"sw_steering_icm_address_tx", 0x100, 0x40>,
    Reserved<0x140, 0xa0>> {};

struct sync_steering_in : Layout<"sync_steering_in", 0x100,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0xc0>> {};

struct sync_steering_out : status_out<"sync_steering_out"> {};
// clang-format on

// MLX5_OBJ_TYPE_* and MLX5_GENERAL_OBJECT_TYPES_* (mlx5_ifc.h; general_obj_in_cmd_hdr.obj_type, and
// the number of a bit of cmd_hca_cap.general_obj_types)
inline constexpr std::uint32_t kObjTypeSwIcm = 0x8;     // MLX5_OBJ_TYPE_SW_ICM
inline constexpr std::uint32_t kObjTypeSampler = 0x20;  // MLX5_GENERAL_OBJECT_TYPES_SAMPLER

/// The mode of a key of such memory (prm::kMkcModeMemic is its neighbour).
inline constexpr std::uint32_t kMkcModeSwIcm = 4;  // MLX5_MKC_ACCESS_MODE_SW_ICM

// cmd_hca_cap.steering_format_version.
inline constexpr std::uint32_t kSteeringFormatConnectx5 = 0;  // MLX5_STEERING_FORMAT_CONNECTX_5

}  // namespace portcullis::prm
