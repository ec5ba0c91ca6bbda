// SPDX-License-Identifier: BSD-3-Clause
//
// Completion entries in a compressed block: a title, which is an entry with the format
// kCqeCompressed and the number of completions in byte_cnt, and arrays of mini entries in the slots
// of others (mlx5e_decompress_cqes_start of mlx5/core/en_rx.c). Source of the layout here: struct
// mlx5_mini_cqe8 of include/linux/mlx5/device.h of Linux 6.1; tests/prm holds it against that.
#pragma once

#include <cstddef>
#include <cstdint>

#include "prm/layout.hpp"

namespace portcullis::prm {

// MLX5_CQE_FORMAT_* (device.h; cqc.mini_cqe_res_format)
enum class MiniCqeFormat : std::uint8_t {
  HASH = 0,  // source file only: MLX5_CQE_RES_FORMAT_HASH of mlx5_ib/cq.c
  CSUM = 1,
  CSUM_STRIDX = 3,
};

inline constexpr std::uint32_t kCqeCompressed = 3;  // MLX5_COMPRESSED
inline constexpr std::size_t kMinisPerArray = 8;    // MLX5_MINI_CQE_ARRAY_SIZE

// One member a line, in the order of the header, so that the two can be read side by side.
// clang-format off
/// In the format HASH rx_hash_result stands over checksum and stridx.
struct mlx5_mini_cqe8 : Layout<"mlx5_mini_cqe8", 0x40,
    Field<"checksum", 0x0, 0x10>,
    Field<"stridx", 0x10, 0x10>,
    Field<"byte_cnt", 0x20, 0x20>> {};
// clang-format on

}  // namespace portcullis::prm
