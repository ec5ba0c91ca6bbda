// SPDX-License-Identifier: BSD-3-Clause
//
// What a function can do with remote atomics: the capability page of type ATOMIC.
// Source of every layout here: struct mlx5_ifc_NAME_bits of include/linux/mlx5/mlx5_ifc.h of Linux
// 6.1; tests/prm holds each against that header.
#pragma once

#include <cstdint>

#include "prm/layout.hpp"

namespace portcullis::prm {

// One member a line, in the order of the header, so that the two can be read side by side.
// clang-format off
struct atomic_caps : Layout<"atomic_caps", 0x800,
    Reserved<0x0, 0x40>,
    Field<"atomic_req_8B_endianness_mode", 0x40, 0x2>,
    Reserved<0x42, 0x4>,
    Field<"supported_atomic_req_8B_endianness_mode_1", 0x46, 0x1>,
    Reserved<0x47, 0x49>,
    Field<"atomic_operations", 0x90, 0x10>,
    Reserved<0xa0, 0x10>,
    Field<"atomic_size_qp", 0xb0, 0x10>,
    Reserved<0xc0, 0x10>,
    Field<"atomic_size_dc", 0xd0, 0x10>,
    Reserved<0xe0, 0x720>> {};

// clang-format on

// MLX5_ATOMIC_REQ_MODE_* (source file only: mlx5/core/main.c; atomic_req_8B_endianness_mode)
enum class AtomicReqMode : std::uint8_t { BE = 0, HOST_ENDIANNESS = 1 };

// atomic_operations (driver.h)
inline constexpr std::uint32_t kAtomicOpsCmpSwap = 1 << 0;   // MLX5_ATOMIC_OPS_CMP_SWAP
inline constexpr std::uint32_t kAtomicOpsFetchAdd = 1 << 1;  // MLX5_ATOMIC_OPS_FETCH_ADD
inline constexpr std::uint32_t kAtomicOpsExtendedCmpSwap =
    1 << 2;  // MLX5_ATOMIC_OPS_EXTENDED_CMP_SWAP
inline constexpr std::uint32_t kAtomicOpsExtendedFetchAdd =
    1 << 3;  // MLX5_ATOMIC_OPS_EXTENDED_FETCH_ADD

}  // namespace portcullis::prm
