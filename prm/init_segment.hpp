// SPDX-License-Identifier: BSD-3-Clause
//
// The initialisation segment at the start of BAR0: revision, command queue registers, health.
// Source of every layout here: include/linux/mlx5/mlx5_ifc.h of Linux 6.1, struct mlx5_ifc_NAME_bits;
// tests/prm holds each against that header.
#pragma once

#include "prm/layout.hpp"

namespace portcullis::prm {

// One member a line, in the order of the header, so that the two can be read side by side.
// clang-format off
struct health_buffer : Layout<"health_buffer", 0x200,
    Reserved<0x0, 0x100>,
    RoField<"assert_existptr", 0x100, 0x20>,
    RoField<"assert_callra", 0x120, 0x20>,
    Reserved<0x140, 0x20>,
    RoField<"time", 0x160, 0x20>,
    RoField<"fw_version", 0x180, 0x20>,
    RoField<"hw_id", 0x1a0, 0x20>,
    RoField<"rfr", 0x1c0, 0x1>,
    Reserved<0x1c1, 0x3>,
    RoField<"valid", 0x1c4, 0x1>,
    RoField<"severity", 0x1c5, 0x3>,
    Reserved<0x1c8, 0x18>,
    RoField<"irisc_index", 0x1e0, 0x8>,
    RoField<"synd", 0x1e8, 0x8>,
    RoField<"ext_synd", 0x1f0, 0x10>> {};

struct initial_seg : Layout<"initial_seg", 0x20060,
    RoField<"fw_rev_minor", 0x0, 0x10>,
    RoField<"fw_rev_major", 0x10, 0x10>,
    RoField<"cmd_interface_rev", 0x20, 0x10>,
    RoField<"fw_rev_subminor", 0x30, 0x10>,
    Reserved<0x40, 0x40>,
    Field<"cmdq_phy_addr_63_32", 0x80, 0x20>,
    Field<"cmdq_phy_addr_31_12", 0xa0, 0x14>,
    Reserved<0xb4, 0x2>,
    Field<"nic_interface", 0xb6, 0x2>,
    RoField<"log_cmdq_size", 0xb8, 0x4>,
    RoField<"log_cmdq_stride", 0xbc, 0x4>,
    Field<"command_doorbell_vector", 0xc0, 0x20>,
    Reserved<0xe0, 0xf00>,
    RoField<"initializing", 0xfe0, 0x1>,
    Reserved<0xfe1, 0x4>,
    RoField<"nic_interface_supported", 0xfe5, 0x3>,
    RoField<"embedded_cpu", 0xfe8, 0x1>,
    Reserved<0xfe9, 0x17>,
    Nested<"health_buffer", 0x1000, health_buffer>,
    RoField<"no_dram_nic_offset", 0x1200, 0x20>,
    Reserved<0x1220, 0x6e5f>,
    Field<"clear_int", 0x807f, 0x1>,
    RoField<"health_syndrome", 0x8080, 0x8>,
    RoField<"health_counter", 0x8088, 0x18>,
    Reserved<0x80a0, 0x17fc0>> {};

// clang-format on
}  // namespace portcullis::prm
