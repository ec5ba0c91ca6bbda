// SPDX-License-Identifier: BSD-3-Clause
//
// What a function can do with Ethernet frames: the capability page of type ETHERNET_OFFLOADS.
// Source of every layout here: struct mlx5_ifc_NAME_bits of include/linux/mlx5/mlx5_ifc.h of Linux
// 6.1; tests/prm holds each against that header.
#pragma once

#include <cstdint>

#include "prm/enums.hpp"
#include "prm/layout.hpp"

namespace portcullis::prm {

// MLX5_CAP_INLINE_MODE_* (vport.h; per_protocol_networking_offload_caps.wqe_inline_mode)
enum class WqeInlineMode : std::uint8_t { L2 = 0, VPORT_CONTEXT = 1, NOT_REQUIRED = 2 };

// One member a line, in the order of the header, so that the two can be read side by side.
// clang-format off
struct per_protocol_networking_offload_caps : Layout<"per_protocol_networking_offload_caps", 0x800,
    Field<"csum_cap", 0x0, 0x1>,
    Field<"vlan_cap", 0x1, 0x1>,
    Field<"lro_cap", 0x2, 0x1>,
    Field<"lro_psh_flag", 0x3, 0x1>,
    Field<"lro_time_stamp", 0x4, 0x1>,
    Reserved<0x5, 0x2>,
    Field<"wqe_vlan_insert", 0x7, 0x1>,
    Field<"self_lb_en_modifiable", 0x8, 0x1>,
    Reserved<0x9, 0x2>,
    Field<"max_lso_cap", 0xb, 0x5>,
    Field<"multi_pkt_send_wqe", 0x10, 0x2>,
    Field<"wqe_inline_mode", 0x12, 0x2>,
    Field<"rss_ind_tbl_cap", 0x14, 0x4>,
    Field<"reg_umr_sq", 0x18, 0x1>,
    Field<"scatter_fcs", 0x19, 0x1>,
    Field<"enhanced_multi_pkt_send_wqe", 0x1a, 0x1>,
    Field<"tunnel_lso_const_out_ip_id", 0x1b, 0x1>,
    Field<"tunnel_lro_gre", 0x1c, 0x1>,
    Field<"tunnel_lro_vxlan", 0x1d, 0x1>,
    Field<"tunnel_stateless_gre", 0x1e, 0x1>,
    Field<"tunnel_stateless_vxlan", 0x1f, 0x1>,
    Field<"swp", 0x20, 0x1>,
    Field<"swp_csum", 0x21, 0x1>,
    Field<"swp_lso", 0x22, 0x1>,
    Field<"cqe_checksum_full", 0x23, 0x1>,
    Field<"tunnel_stateless_geneve_tx", 0x24, 0x1>,
    Field<"tunnel_stateless_mpls_over_udp", 0x25, 0x1>,
    Field<"tunnel_stateless_mpls_over_gre", 0x26, 0x1>,
    Field<"tunnel_stateless_vxlan_gpe", 0x27, 0x1>,
    Field<"tunnel_stateless_ipv4_over_vxlan", 0x28, 0x1>,
    Field<"tunnel_stateless_ip_over_ip", 0x29, 0x1>,
    Field<"insert_trailer", 0x2a, 0x1>,
    Reserved<0x2b, 0x1>,
    Field<"tunnel_stateless_ip_over_ip_rx", 0x2c, 0x1>,
    Field<"tunnel_stateless_ip_over_ip_tx", 0x2d, 0x1>,
    Reserved<0x2e, 0x2>,
    Field<"max_vxlan_udp_ports", 0x30, 0x8>,
    Reserved<0x38, 0x6>,
    Field<"max_geneve_opt_len", 0x3e, 0x1>,
    Field<"tunnel_stateless_geneve_rx", 0x3f, 0x1>,
    Reserved<0x40, 0x10>,
    Field<"lro_min_mss_size", 0x50, 0x10>,
    Reserved<0x60, 0x120>,
    Bytes<"lro_timer_supported_periods", 0x180, 0x80>,
    Reserved<0x200, 0x600>> {};

// clang-format on
}  // namespace portcullis::prm
