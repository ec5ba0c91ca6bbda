// SPDX-License-Identifier: BSD-3-Clause
//
// How fast send queues may send: the capability page of type QOS, and the table of rates.
// Source of every layout here: struct mlx5_ifc_NAME_bits of include/linux/mlx5/mlx5_ifc.h of Linux
// 6.1; tests/prm holds each against that header.
#pragma once

#include <cstdint>

#include "prm/cmd_interface.hpp"
#include "prm/layout.hpp"

namespace portcullis::prm {

/// modify_sq_in.modify_bitmask: packet_pacing_rate_limit_index is to be taken. It has no name in
/// the kernel, which writes the number (mlx5e_modify_sq of mlx5/core/en_main.c).
inline constexpr std::uint64_t kModifySqRateLimit = 1;

// One member a line, in the order of the header, so that the two can be read side by side.
// clang-format off
struct qos_cap : Layout<"qos_cap", 0x800,
    Field<"packet_pacing", 0x0, 0x1>,
    Field<"esw_scheduling", 0x1, 0x1>,
    Field<"esw_bw_share", 0x2, 0x1>,
    Field<"esw_rate_limit", 0x3, 0x1>,
    Reserved<0x4, 0x1>,
    Field<"packet_pacing_burst_bound", 0x5, 0x1>,
    Field<"packet_pacing_typical_size", 0x6, 0x1>,
    Reserved<0x7, 0x1>,
    Field<"nic_sq_scheduling", 0x8, 0x1>,
    Field<"nic_bw_share", 0x9, 0x1>,
    Field<"nic_rate_limit", 0xa, 0x1>,
    Field<"packet_pacing_uid", 0xb, 0x1>,
    Field<"log_esw_max_sched_depth", 0xc, 0x4>,
    Reserved<0x10, 0x10>,
    Reserved<0x20, 0xb>,
    Field<"log_max_qos_nic_queue_group", 0x2b, 0x5>,
    Reserved<0x30, 0x10>,
    Field<"packet_pacing_max_rate", 0x40, 0x20>,
    Field<"packet_pacing_min_rate", 0x60, 0x20>,
    Reserved<0x80, 0x10>,
    Field<"packet_pacing_rate_table_size", 0x90, 0x10>,
    Field<"esw_element_type", 0xa0, 0x10>,
    Field<"esw_tsar_type", 0xb0, 0x10>,
    Reserved<0xc0, 0x10>,
    Field<"max_qos_para_vport", 0xd0, 0x10>,
    Field<"max_tsar_bw_share", 0xe0, 0x20>,
    Field<"nic_element_type", 0x100, 0x10>,
    Field<"nic_tsar_type", 0x110, 0x10>,
    Reserved<0x120, 0x3>,
    Field<"log_meter_aso_granularity", 0x123, 0x5>,
    Reserved<0x128, 0x3>,
    Field<"log_meter_aso_max_alloc", 0x12b, 0x5>,
    Reserved<0x130, 0x3>,
    Field<"log_max_num_meter_aso", 0x133, 0x5>,
    Reserved<0x138, 0x8>,
    Reserved<0x140, 0x6c0>> {};

/// Rates are in kbit/s, of 1000 bits (man ibv_modify_qp_rate_limit: "kbps"), the rest in bytes.
struct set_pp_rate_limit_context : Layout<"set_pp_rate_limit_context", 0x180,
    Field<"rate_limit", 0x0, 0x20>,
    Field<"burst_upper_bound", 0x20, 0x20>,
    Reserved<0x40, 0x10>,
    Field<"typical_packet_size", 0x50, 0x10>,
    Reserved<0x60, 0x120>> {};

struct set_pp_rate_limit_in : Layout<"set_pp_rate_limit_in", 0x200,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x10>,
    Field<"rate_limit_index", 0x50, 0x10>,
    Reserved<0x60, 0x20>,
    Nested<"ctx", 0x80, set_pp_rate_limit_context>> {};

struct set_pp_rate_limit_out : status_out<"set_pp_rate_limit_out"> {};

// clang-format on
}  // namespace portcullis::prm
