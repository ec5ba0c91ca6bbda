// SPDX-License-Identifier: BSD-3-Clause
//
// Flow steering: tables, groups and entries, the root of a domain, and flow counters.
// Source of every layout here: struct mlx5_ifc_NAME_bits of include/linux/mlx5/mlx5_ifc.h of Linux
// 6.1; tests/prm holds each against that header.
#pragma once

#include "prm/cmd_interface.hpp"
#include "prm/layout.hpp"

namespace portcullis::prm {

// One member a line, in the order of the header, so that the two can be read side by side.
// clang-format off
// ---- what a packet is compared with ----

struct fte_match_set_lyr_2_4 : Layout<"fte_match_set_lyr_2_4", 0x200,
    Field<"smac_47_16", 0x0, 0x20>,
    Field<"smac_15_0", 0x20, 0x10>,
    Field<"ethertype", 0x30, 0x10>,
    Field<"dmac_47_16", 0x40, 0x20>,
    Field<"dmac_15_0", 0x60, 0x10>,
    Field<"first_prio", 0x70, 0x3>,
    Field<"first_cfi", 0x73, 0x1>,
    Field<"first_vid", 0x74, 0xc>,
    Field<"ip_protocol", 0x80, 0x8>,
    Field<"ip_dscp", 0x88, 0x6>,
    Field<"ip_ecn", 0x8e, 0x2>,
    Field<"cvlan_tag", 0x90, 0x1>,
    Field<"svlan_tag", 0x91, 0x1>,
    Field<"frag", 0x92, 0x1>,
    Field<"ip_version", 0x93, 0x4>,
    Field<"tcp_flags", 0x97, 0x9>,
    Field<"tcp_sport", 0xa0, 0x10>,
    Field<"tcp_dport", 0xb0, 0x10>,
    Reserved<0xc0, 0x10>,
    Field<"ipv4_ihl", 0xd0, 0x4>,
    Reserved<0xd4, 0x4>,
    Field<"ttl_hoplimit", 0xd8, 0x8>,
    Field<"udp_sport", 0xe0, 0x10>,
    Field<"udp_dport", 0xf0, 0x10>,
    Bytes<"src_ipv4_src_ipv6", 0x100, 0x80>,
    Bytes<"dst_ipv4_dst_ipv6", 0x180, 0x80>> {};

struct fte_match_set_misc : Layout<"fte_match_set_misc", 0x200,
    Field<"gre_c_present", 0x0, 0x1>,
    Reserved<0x1, 0x1>,
    Field<"gre_k_present", 0x2, 0x1>,
    Field<"gre_s_present", 0x3, 0x1>,
    Field<"source_vhca_port", 0x4, 0x4>,
    Field<"source_sqn", 0x8, 0x18>,
    Field<"source_eswitch_owner_vhca_id", 0x20, 0x10>,
    Field<"source_port", 0x30, 0x10>,
    Field<"outer_second_prio", 0x40, 0x3>,
    Field<"outer_second_cfi", 0x43, 0x1>,
    Field<"outer_second_vid", 0x44, 0xc>,
    Field<"inner_second_prio", 0x50, 0x3>,
    Field<"inner_second_cfi", 0x53, 0x1>,
    Field<"inner_second_vid", 0x54, 0xc>,
    Field<"outer_second_cvlan_tag", 0x60, 0x1>,
    Field<"inner_second_cvlan_tag", 0x61, 0x1>,
    Field<"outer_second_svlan_tag", 0x62, 0x1>,
    Field<"inner_second_svlan_tag", 0x63, 0x1>,
    Reserved<0x64, 0xc>,
    Field<"gre_protocol", 0x70, 0x10>,
    Bytes<"gre_key", 0x80, 0x20>,
    Field<"vxlan_vni", 0xa0, 0x18>,
    Field<"bth_opcode", 0xb8, 0x8>,
    Field<"geneve_vni", 0xc0, 0x18>,
    Reserved<0xd8, 0x6>,
    Field<"geneve_tlv_option_0_exist", 0xde, 0x1>,
    Field<"geneve_oam", 0xdf, 0x1>,
    Reserved<0xe0, 0xc>,
    Field<"outer_ipv6_flow_label", 0xec, 0x14>,
    Reserved<0x100, 0xc>,
    Field<"inner_ipv6_flow_label", 0x10c, 0x14>,
    Reserved<0x120, 0xa>,
    Field<"geneve_opt_len", 0x12a, 0x6>,
    Field<"geneve_protocol_type", 0x130, 0x10>,
    Reserved<0x140, 0x8>,
    Field<"bth_dst_qp", 0x148, 0x18>,
    Reserved<0x160, 0x20>,
    Field<"outer_esp_spi", 0x180, 0x20>,
    Reserved<0x1a0, 0x60>> {};

struct fte_match_param : Layout<"fte_match_param", 0x1000,
    Nested<"outer_headers", 0x0, fte_match_set_lyr_2_4>,
    Nested<"misc_parameters", 0x200, fte_match_set_misc>,
    Nested<"inner_headers", 0x400, fte_match_set_lyr_2_4>,
    Bytes<"misc_parameters_2", 0x600, 0x200>,
    Bytes<"misc_parameters_3", 0x800, 0x200>,
    Bytes<"misc_parameters_4", 0xa00, 0x200>,
    Bytes<"misc_parameters_5", 0xc00, 0x200>,
    Reserved<0xe00, 0x200>> {};

// ---- tables ----

struct flow_table_context : Layout<"flow_table_context", 0x140,
    Field<"reformat_en", 0x0, 0x1>,
    Field<"decap_en", 0x1, 0x1>,
    Field<"sw_owner", 0x2, 0x1>,
    Field<"termination_table", 0x3, 0x1>,
    Field<"table_miss_action", 0x4, 0x4>,
    Field<"level", 0x8, 0x8>,
    Reserved<0x10, 0x8>,
    Field<"log_size", 0x18, 0x8>,
    Reserved<0x20, 0x8>,
    Field<"table_miss_id", 0x28, 0x18>,
    Reserved<0x40, 0x8>,
    Field<"lag_master_next_table_id", 0x48, 0x18>,
    Reserved<0x60, 0x60>,
    Field<"sw_owner_icm_root_1", 0xc0, 0x40>,
    Field<"sw_owner_icm_root_0", 0x100, 0x40>> {};

struct create_flow_table_in : Layout<"create_flow_table_in", 0x200,
    Field<"opcode", 0x0, 0x10>,
    Field<"uid", 0x10, 0x10>,
    Reserved<0x20, 0x10>,
    Field<"op_mod", 0x30, 0x10>,
    Field<"other_vport", 0x40, 0x1>,
    Reserved<0x41, 0xf>,
    Field<"vport_number", 0x50, 0x10>,
    Reserved<0x60, 0x20>,
    Field<"table_type", 0x80, 0x8>,
    Reserved<0x88, 0x38>,
    Nested<"flow_table_context", 0xc0, flow_table_context>> {};

struct create_flow_table_out : Layout<"create_flow_table_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Field<"icm_address_63_40", 0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Field<"icm_address_39_32", 0x40, 0x8>,
    Field<"table_id", 0x48, 0x18>,
    Field<"icm_address_31_0", 0x60, 0x20>> {};

struct destroy_flow_table_in : vport_in<"destroy_flow_table_in", 0x200,
    Reserved<0x60, 0x20>,
    Field<"table_type", 0x80, 0x8>,
    Reserved<0x88, 0x20>,
    Field<"table_id", 0xa8, 0x18>,
    Reserved<0xc0, 0x140>> {};

struct destroy_flow_table_out : status_out<"destroy_flow_table_out"> {};

struct modify_flow_table_in : vport_in<"modify_flow_table_in", 0x200,
    Reserved<0x60, 0x10>,
    Field<"modify_field_select", 0x70, 0x10>,
    Field<"table_type", 0x80, 0x8>,
    Reserved<0x88, 0x20>,
    Field<"table_id", 0xa8, 0x18>,
    Nested<"flow_table_context", 0xc0, flow_table_context>> {};

struct modify_flow_table_out : status_out<"modify_flow_table_out"> {};

struct query_flow_table_in : Layout<"query_flow_table_in", 0x200,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x40>,
    Field<"table_type", 0x80, 0x8>,
    Reserved<0x88, 0x20>,
    Field<"table_id", 0xa8, 0x18>,
    Reserved<0xc0, 0x140>> {};

struct query_flow_table_out : Layout<"query_flow_table_out", 0x200,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x80>,
    Nested<"flow_table_context", 0xc0, flow_table_context>> {};

struct set_flow_table_root_in : vport_in<"set_flow_table_root_in", 0x200,
    Reserved<0x60, 0x20>,
    Field<"table_type", 0x80, 0x8>,
    Reserved<0x88, 0x7>,
    Field<"table_of_other_vport", 0x8f, 0x1>,
    Field<"table_vport_number", 0x90, 0x10>,
    Reserved<0xa0, 0x8>,
    Field<"table_id", 0xa8, 0x18>,
    Reserved<0xc0, 0x8>,
    Field<"underlay_qpn", 0xc8, 0x18>,
    Field<"table_eswitch_owner_vhca_id_valid", 0xe0, 0x1>,
    Reserved<0xe1, 0xf>,
    Field<"table_eswitch_owner_vhca_id", 0xf0, 0x10>,
    Reserved<0x100, 0x100>> {};

struct set_flow_table_root_out : status_out<"set_flow_table_root_out"> {};

// ---- groups ----

struct create_flow_group_in : vport_in<"create_flow_group_in", 0x2000,
    Reserved<0x60, 0x20>,
    Field<"table_type", 0x80, 0x8>,
    Reserved<0x88, 0x4>,
    Field<"group_type", 0x8c, 0x4>,
    Reserved<0x90, 0x18>,
    Field<"table_id", 0xa8, 0x18>,
    Field<"source_eswitch_owner_vhca_id_valid", 0xc0, 0x1>,
    Reserved<0xc1, 0x1f>,
    Field<"start_flow_index", 0xe0, 0x20>,
    Reserved<0x100, 0x20>,
    Field<"end_flow_index", 0x120, 0x20>,
    Reserved<0x140, 0x10>,
    Field<"match_definer_id", 0x150, 0x10>,
    Reserved<0x160, 0x98>,
    Field<"match_criteria_enable", 0x1f8, 0x8>,
    Nested<"match_criteria", 0x200, fte_match_param>,
    Reserved<0x1200, 0xe00>> {};

struct create_flow_group_out : Layout<"create_flow_group_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x8>,
    Field<"group_id", 0x48, 0x18>,
    Reserved<0x60, 0x20>> {};

struct query_flow_group_in : Layout<"query_flow_group_in", 0x200,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x40>,
    Field<"table_type", 0x80, 0x8>,
    Reserved<0x88, 0x20>,
    Field<"table_id", 0xa8, 0x18>,
    Field<"group_id", 0xc0, 0x20>,
    Reserved<0xe0, 0x120>> {};

struct query_flow_group_out : Layout<"query_flow_group_out", 0x2000,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0xa0>,
    Field<"start_flow_index", 0xe0, 0x20>,
    Reserved<0x100, 0x20>,
    Field<"end_flow_index", 0x120, 0x20>,
    Reserved<0x140, 0xb8>,
    Field<"match_criteria_enable", 0x1f8, 0x8>,
    Nested<"match_criteria", 0x200, fte_match_param>,
    Reserved<0x1200, 0xe00>> {};

struct destroy_flow_group_in : vport_in<"destroy_flow_group_in", 0x200,
    Reserved<0x60, 0x20>,
    Field<"table_type", 0x80, 0x8>,
    Reserved<0x88, 0x20>,
    Field<"table_id", 0xa8, 0x18>,
    Field<"group_id", 0xc0, 0x20>,
    Reserved<0xe0, 0x120>> {};

struct destroy_flow_group_out : status_out<"destroy_flow_group_out"> {};

// ---- entries ----

/// Followed by destination[]: destination_list_size times dest_format_struct, then
/// flow_counter_list_size times flow_counter_list (mlx5_cmd_set_fte of mlx5/core/fs_cmd.c).
struct flow_context : Layout<"flow_context", 0x1800,
    Bytes<"push_vlan", 0x0, 0x20>,
    Field<"group_id", 0x20, 0x20>,
    Reserved<0x40, 0x8>,
    Field<"flow_tag", 0x48, 0x18>,
    Reserved<0x60, 0x10>,
    Field<"action", 0x70, 0x10>,
    Field<"extended_destination", 0x80, 0x1>,
    Reserved<0x81, 0x1>,
    Field<"flow_source", 0x82, 0x2>,
    Field<"encrypt_decrypt_type", 0x84, 0x4>,
    Field<"destination_list_size", 0x88, 0x18>,
    Reserved<0xa0, 0x8>,
    Field<"flow_counter_list_size", 0xa8, 0x18>,
    Field<"packet_reformat_id", 0xc0, 0x20>,
    Field<"modify_header_id", 0xe0, 0x20>,
    Bytes<"push_vlan_2", 0x100, 0x20>,
    Field<"encrypt_decrypt_obj_id", 0x120, 0x20>,
    Reserved<0x140, 0xc0>,
    Nested<"match_value", 0x200, fte_match_param>,
    Bytes<"execute_aso", 0x1200, 0x100>,
    Reserved<0x1300, 0x500>> {};

struct dest_format_struct : Layout<"dest_format_struct", 0x40,
    Field<"destination_type", 0x0, 0x8>,
    Field<"destination_id", 0x8, 0x18>,
    Field<"destination_eswitch_owner_vhca_id_valid", 0x20, 0x1>,
    Field<"packet_reformat", 0x21, 0x1>,
    Reserved<0x22, 0xe>,
    Field<"destination_eswitch_owner_vhca_id", 0x30, 0x10>> {};

struct flow_counter_list : Layout<"flow_counter_list", 0x40,
    Field<"flow_counter_id", 0x0, 0x20>,
    Reserved<0x20, 0x20>> {};

struct set_fte_in : vport_in<"set_fte_in", 0x1a00,
    Reserved<0x60, 0x20>,
    Field<"table_type", 0x80, 0x8>,
    Reserved<0x88, 0x20>,
    Field<"table_id", 0xa8, 0x18>,
    Field<"ignore_flow_level", 0xc0, 0x1>,
    Reserved<0xc1, 0x17>,
    Field<"modify_enable_mask", 0xd8, 0x8>,
    Reserved<0xe0, 0x20>,
    Field<"flow_index", 0x100, 0x20>,
    Reserved<0x120, 0xe0>,
    Nested<"flow_context", 0x200, flow_context>> {};

struct set_fte_out : status_out<"set_fte_out"> {};

struct query_fte_in : Layout<"query_fte_in", 0x200,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x40>,
    Field<"table_type", 0x80, 0x8>,
    Reserved<0x88, 0x20>,
    Field<"table_id", 0xa8, 0x18>,
    Reserved<0xc0, 0x40>,
    Field<"flow_index", 0x100, 0x20>,
    Reserved<0x120, 0xe0>> {};

struct query_fte_out : Layout<"query_fte_out", 0x1a00,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Reserved<0x40, 0x1c0>,
    Nested<"flow_context", 0x200, flow_context>> {};

struct delete_fte_in : vport_in<"delete_fte_in", 0x200,
    Reserved<0x60, 0x20>,
    Field<"table_type", 0x80, 0x8>,
    Reserved<0x88, 0x20>,
    Field<"table_id", 0xa8, 0x18>,
    Reserved<0xc0, 0x40>,
    Field<"flow_index", 0x100, 0x20>,
    Reserved<0x120, 0xe0>> {};

struct delete_fte_out : status_out<"delete_fte_out"> {};

// ---- counters ----

struct traffic_counter : Layout<"traffic_counter", 0x80,
    Field<"packets", 0x0, 0x40>,
    Field<"octets", 0x40, 0x40>> {};

struct alloc_flow_counter_in : Layout<"alloc_flow_counter_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x33>,
    Field<"flow_counter_bulk_log_size", 0x73, 0x5>,
    Field<"flow_counter_bulk", 0x78, 0x8>> {};

struct alloc_flow_counter_out : Layout<"alloc_flow_counter_out", 0x80,
    Field<"status", 0x0, 0x8>,
    Reserved<0x8, 0x18>,
    Field<"syndrome", 0x20, 0x20>,
    Field<"flow_counter_id", 0x40, 0x20>,
    Reserved<0x60, 0x20>> {};

struct dealloc_flow_counter_in : Layout<"dealloc_flow_counter_in", 0x80,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Field<"flow_counter_id", 0x40, 0x20>,
    Reserved<0x60, 0x20>> {};

struct dealloc_flow_counter_out : status_out<"dealloc_flow_counter_out"> {};

struct query_flow_counter_in : Layout<"query_flow_counter_in", 0x100,
    Field<"opcode", 0x0, 0x10>,
    Reserved<0x10, 0x20>,
    Field<"op_mod", 0x30, 0x10>,
    Reserved<0x40, 0x80>,
    Field<"clear", 0xc0, 0x1>,
    Reserved<0xc1, 0xf>,
    Field<"num_of_counters", 0xd0, 0x10>,
    Field<"flow_counter_id", 0xe0, 0x20>> {};

/// Followed by flow_statistics[]: num_of_counters times traffic_counter, one where that is 0.
struct query_flow_counter_out : status_out<"query_flow_counter_out"> {};

// clang-format on
}  // namespace portcullis::prm
