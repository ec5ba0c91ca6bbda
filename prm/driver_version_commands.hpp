// SPDX-License-Identifier: BSD-3-Clause
//
// The command by which a driver says its name.
// Source of every layout here: struct mlx5_ifc_NAME_bits of include/linux/mlx5/mlx5_ifc.h of Linux
// 6.1; tests/prm holds each against that header.
#pragma once

#include "prm/layout.hpp"

namespace portcullis::prm {

// One member a line, in the order of the header, so that the two can be read side by side.
// clang-format off
struct set_driver_version_in : Layout<"set_driver_version_in", 0x280,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x40>,
    Bytes<"driver_version", 0x80, 0x200>> {};

struct set_driver_version_out : Layout<"set_driver_version_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x40>> {};
// clang-format on

}  // namespace portcullis::prm
