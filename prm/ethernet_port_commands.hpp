// SPDX-License-Identifier: BSD-3-Clause
//
// The Ethernet port by command: the table of addresses that the card's switch sends to this
// function (MPFS), the state and the counters of a vport.
// Source of every layout here: struct mlx5_ifc_NAME_bits of include/linux/mlx5/mlx5_ifc.h of Linux
// 6.1; tests/prm holds each against that header.
#pragma once

#include <cstdint>

#include "prm/cmd_interface.hpp"
#include "prm/counter_commands.hpp"
#include "prm/enums.hpp"
#include "prm/flow_commands.hpp"
#include "prm/layout.hpp"
#include "prm/port_commands.hpp"

namespace portcullis::prm {

// One member a line, in the order of the header, so that the two can be read side by side.
// clang-format off
struct set_l2_table_entry_in : Layout<"set_l2_table_entry_in", 0x200,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x60>,
    Reserved<0xa0, 0x8>,
    Field<"table_index", 0xa8, 0x18>,
    Reserved<0xc0, 0x20>,
    Reserved<0xe0, 0x13>,
    Field<"vlan_valid", 0xf3, 0x1>,
    Field<"vlan", 0xf4, 0xc>,
    Nested<"mac_address", 0x100, mac_address_layout>,
    Reserved<0x140, 0xc0>> {};

struct set_l2_table_entry_out : status_out<"set_l2_table_entry_out"> {};

struct query_l2_table_entry_in : Layout<"query_l2_table_entry_in", 0x200,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x60>,
    Reserved<0xa0, 0x8>,
    Field<"table_index", 0xa8, 0x18>,
    Reserved<0xc0, 0x140>> {};

struct query_l2_table_entry_out : Layout<"query_l2_table_entry_out", 0x200,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0xa0>,
    Reserved<0xe0, 0x13>,
    Field<"vlan_valid", 0xf3, 0x1>,
    Field<"vlan", 0xf4, 0xc>,
    Nested<"mac_address", 0x100, mac_address_layout>,
    Reserved<0x140, 0xc0>> {};

struct delete_l2_table_entry_in : Layout<"delete_l2_table_entry_in", 0x200,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x60>,
    Reserved<0xa0, 0x8>,
    Field<"table_index", 0xa8, 0x18>,
    Reserved<0xc0, 0x140>> {};

struct delete_l2_table_entry_out : status_out<"delete_l2_table_entry_out"> {};

/// An entry of a vport's VLAN list.
struct vlan_layout : Layout<"vlan_layout", 0x40,
    Reserved<0x0, 0x14>,
    Field<"vlan", 0x14, 0xc>,
    Reserved<0x20, 0x20>> {};

struct modify_vport_state_in : Layout<"modify_vport_state_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Field<"other_vport", 0x40, 0x1>,
    Reserved<0x41, 0xf>,
    Field<"vport_number", 0x50, 0x10>,
    Reserved<0x60, 0x18>,
    Field<"admin_state", 0x78, 0x4>,
    Reserved<0x7c, 0x4>> {};

struct modify_vport_state_out : status_out<"modify_vport_state_out"> {};

struct query_vport_counter_in : Layout<"query_vport_counter_in", 0x100,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Field<"other_vport", 0x40, 0x1>,
    Reserved<0x41, 0xb>,
    Field<"port_num", 0x4c, 0x4>,
    Field<"vport_number", 0x50, 0x10>,
    Reserved<0x60, 0x60>,
    Field<"clear", 0xc0, 0x1>,
    Reserved<0xc1, 0x1f>,
    Reserved<0xe0, 0x20>> {};

struct query_vport_counter_out : Layout<"query_vport_counter_out", 0x1080,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x40>,
    Nested<"received_errors", 0x80, traffic_counter>,
    Nested<"transmit_errors", 0x100, traffic_counter>,
    Nested<"received_ib_unicast", 0x180, traffic_counter>,
    Nested<"transmitted_ib_unicast", 0x200, traffic_counter>,
    Nested<"received_ib_multicast", 0x280, traffic_counter>,
    Nested<"transmitted_ib_multicast", 0x300, traffic_counter>,
    Nested<"received_eth_broadcast", 0x380, traffic_counter>,
    Nested<"transmitted_eth_broadcast", 0x400, traffic_counter>,
    Nested<"received_eth_unicast", 0x480, traffic_counter>,
    Nested<"transmitted_eth_unicast", 0x500, traffic_counter>,
    Nested<"received_eth_multicast", 0x580, traffic_counter>,
    Nested<"transmitted_eth_multicast", 0x600, traffic_counter>,
    Reserved<0x680, 0xa00>> {};

// clang-format on
}  // namespace portcullis::prm
