// SPDX-License-Identifier: BSD-3-Clause
//
// Port registers of ACCESS_REG: administrative and operational state, speed, MTU, virtual lanes.
// Source of every layout here: struct mlx5_ifc_NAME_bits of include/linux/mlx5/mlx5_ifc.h of Linux
// 6.1; tests/prm holds each against that header.
#pragma once

#include "prm/layout.hpp"

namespace portcullis::prm {

// One member a line, in the order of the header, so that the two can be read side by side.
// clang-format off
struct paos_reg : Layout<"paos_reg", 0x80,
    Field<"swid", 0x0, 0x8>,
    Field<"local_port", 0x8, 0x8>,
    Reserved<0x10, 0x4>,
    Field<"admin_status", 0x14, 0x4>,
    Reserved<0x18, 0x4>,
    Field<"oper_status", 0x1c, 0x4>,
    Field<"ase", 0x20, 0x1>,
    Field<"ee", 0x21, 0x1>,
    Reserved<0x22, 0x1c>,
    Field<"e", 0x3e, 0x2>,
    Reserved<0x40, 0x40>> {};

struct ptys_reg : Layout<"ptys_reg", 0x200,
    Reserved<0x0, 0x1>,
    Field<"an_disable_admin", 0x1, 0x1>,
    Field<"an_disable_cap", 0x2, 0x1>,
    Reserved<0x3, 0x5>,
    Field<"local_port", 0x8, 0x8>,
    Reserved<0x10, 0xd>,
    Field<"proto_mask", 0x1d, 0x3>,
    Field<"an_status", 0x20, 0x4>,
    Reserved<0x24, 0xc>,
    Field<"data_rate_oper", 0x30, 0x10>,
    Field<"ext_eth_proto_capability", 0x40, 0x20>,
    Field<"eth_proto_capability", 0x60, 0x20>,
    Field<"ib_link_width_capability", 0x80, 0x10>,
    Field<"ib_proto_capability", 0x90, 0x10>,
    Field<"ext_eth_proto_admin", 0xa0, 0x20>,
    Field<"eth_proto_admin", 0xc0, 0x20>,
    Field<"ib_link_width_admin", 0xe0, 0x10>,
    Field<"ib_proto_admin", 0xf0, 0x10>,
    Field<"ext_eth_proto_oper", 0x100, 0x20>,
    Field<"eth_proto_oper", 0x120, 0x20>,
    Field<"ib_link_width_oper", 0x140, 0x10>,
    Field<"ib_proto_oper", 0x150, 0x10>,
    Reserved<0x160, 0x1c>,
    Field<"connector_type", 0x17c, 0x4>,
    Field<"eth_proto_lp_advertise", 0x180, 0x20>,
    Reserved<0x1a0, 0x60>> {};

struct pmtu_reg : Layout<"pmtu_reg", 0x80,
    Reserved<0x0, 0x8>,
    Field<"local_port", 0x8, 0x8>,
    Reserved<0x10, 0x10>,
    Field<"max_mtu", 0x20, 0x10>,
    Reserved<0x30, 0x10>,
    Field<"admin_mtu", 0x40, 0x10>,
    Reserved<0x50, 0x10>,
    Field<"oper_mtu", 0x60, 0x10>,
    Reserved<0x70, 0x10>> {};

struct pvlc_reg : Layout<"pvlc_reg", 0x80,
    Reserved<0x0, 0x8>,
    Field<"local_port", 0x8, 0x8>,
    Reserved<0x10, 0x2c>,
    Field<"vl_hw_cap", 0x3c, 0x4>,
    Reserved<0x40, 0x1c>,
    Field<"vl_admin", 0x5c, 0x4>,
    Reserved<0x60, 0x1c>,
    Field<"vl_operational", 0x7c, 0x4>> {};
// clang-format on

}  // namespace portcullis::prm
