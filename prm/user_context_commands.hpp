// SPDX-License-Identifier: BSD-3-Clause
//
// User contexts (UCTX): who of a host's processes gives a command. Firmware keeps apart what they
// make, so that the kernel may pass on commands that a process wrote (DevX).
// Source of every layout here: struct mlx5_ifc_NAME_bits of include/linux/mlx5/mlx5_ifc.h of Linux
// 6.1; tests/prm holds each against that header.
#pragma once

#include <cstdint>

#include "prm/cmd_interface.hpp"
#include "prm/layout.hpp"

namespace portcullis::prm {

/// The uid of an object that every user context may use.
inline constexpr std::uint32_t kSharedResourceUid = 0xffff;  // MLX5_SHARED_RESOURCE_UID

// uctx.cap and cmd_hca_cap.uctx_cap.
inline constexpr std::uint32_t kUctxCapRawTx = 1 << 0;           // MLX5_UCTX_CAP_RAW_TX
inline constexpr std::uint32_t kUctxCapInternalDevRes = 1 << 1;  // MLX5_UCTX_CAP_INTERNAL_DEV_RES

// One member a line, in the order of the header, so that the two can be read side by side.
// clang-format off
/// The head of every command. The header leaves the uid out of those that the kernel gives in its
/// own name alone; DevX puts one into any (general_obj_in_cmd_hdr of mlx5_ib/devx.c).
struct general_obj_in_cmd_hdr : Layout<"general_obj_in_cmd_hdr", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Field<"vhca_tunnel_id", 0x20, 0x10>,
    Field<"obj_type", 0x30, 0x10>,
    Field<"obj_id", 0x40, 0x20>,
    Reserved<0x60, 0x3>,
    Field<"log_obj_range", 0x63, 0x5>,
    Reserved<0x68, 0x18>> {};

struct uctx : Layout<"uctx", 0x180,
    Field<"cap", 0x0, 0x20>,
    Reserved<0x20, 0x160>> {};

struct create_uctx_in : Layout<"create_uctx_in", 0x200,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x40>,
    Nested<"uctx", 0x80, uctx>> {};

struct create_uctx_out : Layout<"create_uctx_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x10>,
    Field<"uid", 0x50, 0x10>,
    Reserved<0x60, 0x20>> {};

struct destroy_uctx_in : Layout<"destroy_uctx_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x10>,
    Field<"uid", 0x50, 0x10>,
    Reserved<0x60, 0x20>> {};

struct destroy_uctx_out : status_out<"destroy_uctx_out"> {};

// clang-format on
}  // namespace portcullis::prm
