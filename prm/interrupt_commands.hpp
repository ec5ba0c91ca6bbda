// SPDX-License-Identifier: BSD-3-Clause
//
// The command that keeps the interrupts of an MSI-X vector apart.
// Source of every layout here: struct mlx5_ifc_NAME_bits of include/linux/mlx5/mlx5_ifc.h of Linux
// 6.1; tests/prm holds each against that header.
#pragma once

#include <cstdint>

#include "prm/layout.hpp"

namespace portcullis::prm {

// MLX5_CONFIG_INT_MODERATION_IN_OP_MOD_* (mlx5_ifc.h; config_int_moderation_in.op_mod)
enum class IntModerationOpMod : std::uint16_t { WRITE = 0, READ = 1 };

// One member a line, in the order of the header, so that the two can be read side by side.
// clang-format off
/// min_delay is in microseconds (intrmod_period_usec of illumos' mlxcx.conf).
struct config_int_moderation_in : Layout<"config_int_moderation_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x4>,
    Field<"min_delay", 0x44, 0xc>,
    Field<"int_vector", 0x50, 0x10>,
    Reserved<0x60, 0x20>> {};

struct config_int_moderation_out : Layout<"config_int_moderation_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x4>,
    Field<"min_delay", 0x44, 0xc>,
    Field<"int_vector", 0x50, 0x10>,
    Reserved<0x60, 0x20>> {};
// clang-format on

}  // namespace portcullis::prm
