// SPDX-License-Identifier: BSD-3-Clause
//
// Commands on the port: RoCE address table and NIC vport context.
// Source of every layout here: struct mlx5_ifc_NAME_bits of include/linux/mlx5/mlx5_ifc.h of Linux
// 6.1; tests/prm holds each against that header.
#pragma once

#include "prm/cmd_interface.hpp"
#include "prm/layout.hpp"

namespace portcullis::prm {

// One member a line, in the order of the header, so that the two can be read side by side.
// clang-format off
struct roce_addr_layout : Layout<"roce_addr_layout", 0x100,
    Bytes<"source_l3_address", 0x0, 0x80>,
    Reserved<0x80, 0x3>,
    Field<"vlan_valid", 0x83, 0x1>,
    Field<"vlan_id", 0x84, 0xc>,
    Field<"source_mac_47_32", 0x90, 0x10>,
    Field<"source_mac_31_0", 0xa0, 0x20>,
    Reserved<0xc0, 0x14>,
    Field<"roce_l3_type", 0xd4, 0x4>,
    Field<"roce_version", 0xd8, 0x8>,
    Reserved<0xe0, 0x20>> {};

struct set_roce_address_in : Layout<"set_roce_address_in", 0x180,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Field<"roce_address_index", 0x40, 0x10>,
    Reserved<0x50, 0xc>,
    Field<"vhca_port_num", 0x5c, 0x4>,
    Reserved<0x60, 0x20>,
    Nested<"roce_address", 0x80, roce_addr_layout>> {};

struct set_roce_address_out : status_out<"set_roce_address_out"> {};

struct query_roce_address_in : Layout<"query_roce_address_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Field<"roce_address_index", 0x40, 0x10>,
    Reserved<0x50, 0xc>,
    Field<"vhca_port_num", 0x5c, 0x4>,
    Reserved<0x60, 0x20>> {};

struct query_roce_address_out : Layout<"query_roce_address_out", 0x180,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x40>,
    Nested<"roce_address", 0x80, roce_addr_layout>> {};

struct modify_nic_vport_field_select : Layout<"modify_nic_vport_field_select", 0x20,
    Reserved<0x0, 0x12>,
    Field<"affiliation", 0x12, 0x1>,
    Reserved<0x13, 0x1>,
    Field<"disable_uc_local_lb", 0x14, 0x1>,
    Field<"disable_mc_local_lb", 0x15, 0x1>,
    Field<"node_guid", 0x16, 0x1>,
    Field<"port_guid", 0x17, 0x1>,
    Field<"min_inline", 0x18, 0x1>,
    Field<"mtu", 0x19, 0x1>,
    Field<"change_event", 0x1a, 0x1>,
    Field<"promisc", 0x1b, 0x1>,
    Field<"permanent_address", 0x1c, 0x1>,
    Field<"addresses_list", 0x1d, 0x1>,
    Field<"roce_en", 0x1e, 0x1>,
    Reserved<0x1f, 0x1>> {};

struct mac_address_layout : Layout<"mac_address_layout", 0x40,
    Reserved<0x0, 0x10>,
    Field<"mac_addr_47_32", 0x10, 0x10>,
    Field<"mac_addr_31_0", 0x20, 0x20>> {};

struct nic_vport_context : Layout<"nic_vport_context", 0x800,
    Reserved<0x0, 0x5>,
    Field<"min_wqe_inline_mode", 0x5, 0x3>,
    Reserved<0x8, 0x15>,
    Field<"disable_mc_local_lb", 0x1d, 0x1>,
    Field<"disable_uc_local_lb", 0x1e, 0x1>,
    Field<"roce_en", 0x1f, 0x1>,
    Field<"arm_change_event", 0x20, 0x1>,
    Reserved<0x21, 0x1a>,
    Field<"event_on_mtu", 0x3b, 0x1>,
    Field<"event_on_promisc_change", 0x3c, 0x1>,
    Field<"event_on_vlan_change", 0x3d, 0x1>,
    Field<"event_on_mc_address_change", 0x3e, 0x1>,
    Field<"event_on_uc_address_change", 0x3f, 0x1>,
    Field<"vhca_id_type", 0x40, 0x1>,
    Reserved<0x41, 0xb>,
    Field<"affiliation_criteria", 0x4c, 0x4>,
    Field<"affiliated_vhca_id", 0x50, 0x10>,
    Reserved<0x60, 0xd0>,
    Field<"mtu", 0x130, 0x10>,
    Field<"system_image_guid", 0x140, 0x40>,
    Field<"port_guid", 0x180, 0x40>,
    Field<"node_guid", 0x1c0, 0x40>,
    Reserved<0x200, 0x140>,
    Field<"qkey_violation_counter", 0x340, 0x10>,
    Reserved<0x350, 0x430>,
    Field<"promisc_uc", 0x780, 0x1>,
    Field<"promisc_mc", 0x781, 0x1>,
    Field<"promisc_all", 0x782, 0x1>,
    Reserved<0x783, 0x2>,
    Field<"allowed_list_type", 0x785, 0x3>,
    Reserved<0x788, 0xc>,
    Field<"allowed_list_size", 0x794, 0xc>,
    Nested<"permanent_address", 0x7a0, mac_address_layout>,
    Reserved<0x7e0, 0x20>> {};

struct modify_nic_vport_context_in : vport_in<"modify_nic_vport_context_in", 0x1000,
    Nested<"field_select", 0x60, modify_nic_vport_field_select>,
    Reserved<0x80, 0x780>,
    Nested<"nic_vport_context", 0x800, nic_vport_context>> {};

struct modify_nic_vport_context_out : status_out<"modify_nic_vport_context_out"> {};

struct query_nic_vport_context_in : vport_in<"query_nic_vport_context_in", 0x80,
    Reserved<0x60, 0x5>,
    Field<"allowed_list_type", 0x65, 0x3>,
    Reserved<0x68, 0x18>> {};

struct query_nic_vport_context_out : Layout<"query_nic_vport_context_out", 0x880,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x40>,
    Nested<"nic_vport_context", 0x80, nic_vport_context>> {};

struct query_vport_state_in : vport_in<"query_vport_state_in", 0x80,
    Reserved<0x60, 0x20>> {};

struct query_vport_state_out : Layout<"query_vport_state_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x38>,
    Field<"admin_state", 0x78, 0x4>,
    Field<"state", 0x7c, 0x4>> {};

// clang-format on
}  // namespace portcullis::prm
