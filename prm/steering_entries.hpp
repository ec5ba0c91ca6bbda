// SPDX-License-Identifier: BSD-3-Clause
//
// Entries of steering as a program writes them ("STE"), in format version 0, which ConnectX-5 has.
// Source of every layout here: struct mlx5_ifc_NAME_bits of mlx5/core/steering/mlx5_ifc_dr.h of
// Linux 6.1, which no package installs; providers/mlx5/mlx5_ifc.h of rdma-core 44 has the same
// fields at the same places. Numbers are those of dr_ste_v0.c of either. An entry is 64 bytes:
//
//   0x00  what becomes of a packet, by entry_type: ste_sx_transmit, ste_rx_steering_mult or
//         ste_modify_packet
//   0x20  the tag, by entry_sub_type, which is a SteLookup
//   0x30  the mask, a bit for each of the tag's
//
// (dr_hw_ste_format of dr_types.h and DR_STE_SIZE_*.) Where the next table is, its size is or-ed
// into its address: index = address >> 5 | entries (dr_ste_v0_set_hit_addr).
#pragma once

#include <cstddef>
#include <cstdint>

#include "prm/layout.hpp"

namespace portcullis::prm {

inline constexpr std::size_t kSteBytes = 64;
inline constexpr std::size_t kSteTagAt = 32;
inline constexpr std::size_t kSteMaskAt = 48;
inline constexpr std::size_t kSteTagBytes = 16;
/// header_re_write_actions_pointer counts in these: DR_ACTION_CACHE_LINE_SIZE of dr_types.h.
inline constexpr std::size_t kSteRewriteUnit = 64;

// DR_STE_TYPE_* (source file only: dr_ste_v0.c; entry_type)
enum class SteType : std::uint8_t { TX = 1, RX = 2, MODIFY_PKT = 6 };

// DR_STE_TUNL_ACTION_* (source file only: dr_ste_v0.c; tunneling_action)
enum class SteTunnelAction : std::uint8_t {
  NONE = 0,
  ENABLE = 1,
  DECAP = 2,
  L3_DECAP = 3,
  POP_VLAN = 4,
};

// DR_STE_ACTION_TYPE_* (source file only: dr_ste_v0.c; action_type, 0 for none)
enum class SteActionType : std::uint8_t { PUSH_VLAN = 1, ENCAP_L3 = 3, ENCAP = 4 };

// DR_STE_ACTION_MDFY_OP_* (source file only: dr_ste_v0.c; dr_action_hw_set.opcode)
enum class SteRewrite : std::uint8_t { COPY = 0x1, SET = 0x2, ADD = 0x3 };

// DR_STE_V0_LU_TYPE_* (source file only: dr_ste_v0.c; entry_sub_type and next_lu_type). _O are the
// outer headers of what is sent, _D those of what comes, _I those in a tunnel
// (DR_STE_CALC_LU_TYPE).
enum class SteLookup : std::uint8_t {
  NOP = 0x00,
  SRC_GVMI_AND_QP = 0x05,
  ETHL2_DST_O = 0x06,
  ETHL2_DST_I = 0x07,
  ETHL2_SRC_O = 0x08,
  ETHL2_SRC_I = 0x09,
  ETHL2_TUNNELING_I = 0x0a,
  ETHL3_IPV6_DST_O = 0x0d,
  ETHL3_IPV6_DST_I = 0x0e,
  ETHL3_IPV6_SRC_O = 0x0f,
  ETHL3_IPV6_SRC_I = 0x10,
  ETHL3_IPV4_5_TUPLE_O = 0x11,
  ETHL3_IPV4_5_TUPLE_I = 0x12,
  ETHL4_O = 0x13,
  ETHL4_I = 0x14,
  MPLS_FIRST_O = 0x15,
  GRE = 0x16,
  GENERAL_PURPOSE = 0x18,
  ETHL2_DST_D = 0x1b,
  ETHL2_SRC_D = 0x1c,
  ETHL3_IPV6_DST_D = 0x1e,
  ETHL3_IPV6_SRC_D = 0x1f,
  ETHL3_IPV4_5_TUPLE_D = 0x20,
  ETHL4_D = 0x21,
  MPLS_FIRST_I = 0x24,
  MPLS_FIRST_D = 0x25,
  ETHL3_IPV4_MISC_O = 0x29,
  ETHL3_IPV4_MISC_I = 0x2a,
  ETHL3_IPV4_MISC_D = 0x2b,
  ETHL4_MISC_O = 0x2c,
  ETHL4_MISC_I = 0x2d,
  ETHL4_MISC_D = 0x2e,
  STEERING_REGISTERS_0 = 0x2f,
  STEERING_REGISTERS_1 = 0x30,
  ETHL2_SRC_DST_O = 0x36,
  ETHL2_SRC_DST_I = 0x37,
  ETHL2_SRC_DST_D = 0x38,
};

// DR_STE_V0_ACTION_MDFY_FLD_* (source file only: dr_ste_v0.c; destination_field_code). 64 bits
// each; dr_ste_v0_action_modify_field_arr says what stands where in them.
enum class SteField : std::uint8_t {
  L2_0 = 0x00,
  L2_1 = 0x01,
  L2_2 = 0x02,
  L3_0 = 0x03,
  L3_1 = 0x04,
  L3_2 = 0x05,
  L3_3 = 0x06,
  L3_4 = 0x07,
  L4_0 = 0x08,
  L4_1 = 0x09,
  REG_0 = 0x0c,
  REG_1 = 0x0d,
  REG_2 = 0x0e,
  REG_3 = 0x0f,
  METADATA = 0x16,
};

// STE_* (source file only: dr_ste.h; l3_type, 0 for neither)
enum class SteL3 : std::uint8_t { IPV4 = 0x1, IPV6 = 0x2 };

// STE_* (source file only: dr_ste.h; l4_type, 0 for neither)
enum class SteL4 : std::uint8_t { TCP = 0x1, UDP = 0x2 };

// DR_STE_* (source file only: dr_types.h; first_vlan_qualifier, 0 without a tag)
enum class SteVlan : std::uint8_t { SVLAN = 0x1, CVLAN = 0x2 };

/// qp_list_pointer: this, and the flow tag (DR_STE_ENABLE_FLOW_TAG).
inline constexpr std::uint32_t kSteEnableFlowTag = 1U << 31;

// One member a line, in the order of the header, so that the two can be read side by side.
// clang-format off
// ---- what an entry says beside tag and mask ----

/// Of what is sent.
struct ste_sx_transmit : Layout<"ste_sx_transmit", 0x100,
    Field<"entry_type", 0x0, 0x4>,
    Reserved<0x4, 0x4>,
    Field<"entry_sub_type", 0x8, 0x8>,
    Field<"byte_mask", 0x10, 0x10>,
    Field<"next_table_base_63_48", 0x20, 0x10>,
    Field<"next_lu_type", 0x30, 0x8>,
    Field<"next_table_base_39_32_size", 0x38, 0x8>,
    Field<"next_table_base_31_5_size", 0x40, 0x1b>,
    Field<"linear_hash_enable", 0x5b, 0x1>,
    Reserved<0x5c, 0x2>,
    Field<"next_table_rank", 0x5e, 0x2>,
    Field<"sx_wire", 0x60, 0x1>,
    Field<"sx_func_lb", 0x61, 0x1>,
    Field<"sx_sniffer", 0x62, 0x1>,
    Field<"sx_wire_enable", 0x63, 0x1>,
    Field<"sx_func_lb_enable", 0x64, 0x1>,
    Field<"sx_sniffer_enable", 0x65, 0x1>,
    Field<"action_type", 0x66, 0x3>,
    Reserved<0x69, 0x1>,
    Field<"action_description", 0x6a, 0x6>,
    Field<"gvmi", 0x70, 0x10>,
    Field<"encap_pointer_vlan_data", 0x80, 0x20>,
    Field<"loopback_syndome_en", 0xa0, 0x8>,
    Field<"loopback_syndome", 0xa8, 0x8>,
    Field<"counter_trigger", 0xb0, 0x10>,
    Field<"miss_address_63_48", 0xc0, 0x10>,
    Field<"counter_trigger_23_16", 0xd0, 0x8>,
    Field<"miss_address_39_32", 0xd8, 0x8>,
    Field<"miss_address_31_6", 0xe0, 0x1a>,
    Field<"learning_point", 0xfa, 0x1>,
    Field<"go_back", 0xfb, 0x1>,
    Field<"match_polarity", 0xfc, 0x1>,
    Field<"mask_mode", 0xfd, 0x1>,
    Field<"miss_rank", 0xfe, 0x2>> {};

/// Of what comes. Miss and next addresses stand where they do in the other two.
struct ste_rx_steering_mult : Layout<"ste_rx_steering_mult", 0x100,
    Field<"entry_type", 0x0, 0x4>,
    Reserved<0x4, 0x4>,
    Field<"entry_sub_type", 0x8, 0x8>,
    Field<"byte_mask", 0x10, 0x10>,
    Field<"next_table_base_63_48", 0x20, 0x10>,
    Field<"next_lu_type", 0x30, 0x8>,
    Field<"next_table_base_39_32_size", 0x38, 0x8>,
    Field<"next_table_base_31_5_size", 0x40, 0x1b>,
    Field<"linear_hash_enable", 0x5b, 0x1>,
    Reserved<0x5c, 0x2>,
    Field<"next_table_rank", 0x5e, 0x2>,
    Field<"member_count", 0x60, 0x10>,
    Field<"gvmi", 0x70, 0x10>,
    Field<"qp_list_pointer", 0x80, 0x20>,
    Reserved<0xa0, 0x1>,
    Field<"tunneling_action", 0xa1, 0x3>,
    Field<"action_description", 0xa4, 0x4>,
    Reserved<0xa8, 0x8>,
    Field<"counter_trigger_15_0", 0xb0, 0x10>,
    Field<"miss_address_63_48", 0xc0, 0x10>,
    Field<"counter_trigger_23_16", 0xd0, 0x8>,
    Field<"miss_address_39_32", 0xd8, 0x8>,
    Field<"miss_address_31_6", 0xe0, 0x1a>,
    Field<"learning_point", 0xfa, 0x1>,
    Field<"fail_on_error", 0xfb, 0x1>,
    Field<"match_polarity", 0xfc, 0x1>,
    Field<"mask_mode", 0xfd, 0x1>,
    Field<"miss_rank", 0xfe, 0x2>> {};

/// Of either: it changes headers.
struct ste_modify_packet : Layout<"ste_modify_packet", 0x100,
    Field<"entry_type", 0x0, 0x4>,
    Reserved<0x4, 0x4>,
    Field<"entry_sub_type", 0x8, 0x8>,
    Field<"byte_mask", 0x10, 0x10>,
    Field<"next_table_base_63_48", 0x20, 0x10>,
    Field<"next_lu_type", 0x30, 0x8>,
    Field<"next_table_base_39_32_size", 0x38, 0x8>,
    Field<"next_table_base_31_5_size", 0x40, 0x1b>,
    Field<"linear_hash_enable", 0x5b, 0x1>,
    Reserved<0x5c, 0x2>,
    Field<"next_table_rank", 0x5e, 0x2>,
    Field<"number_of_re_write_actions", 0x60, 0x10>,
    Field<"gvmi", 0x70, 0x10>,
    Field<"header_re_write_actions_pointer", 0x80, 0x20>,
    Reserved<0xa0, 0x1>,
    Field<"tunneling_action", 0xa1, 0x3>,
    Field<"action_description", 0xa4, 0x4>,
    Reserved<0xa8, 0x8>,
    Field<"counter_trigger_15_0", 0xb0, 0x10>,
    Field<"miss_address_63_48", 0xc0, 0x10>,
    Field<"counter_trigger_23_16", 0xd0, 0x8>,
    Field<"miss_address_39_32", 0xd8, 0x8>,
    Field<"miss_address_31_6", 0xe0, 0x1a>,
    Field<"learning_point", 0xfa, 0x1>,
    Field<"fail_on_error", 0xfb, 0x1>,
    Field<"match_polarity", 0xfc, 0x1>,
    Field<"mask_mode", 0xfd, 0x1>,
    Field<"miss_rank", 0xfe, 0x2>> {};

// ---- tags: what is compared, by SteLookup ----

struct ste_eth_l2_src : Layout<"ste_eth_l2_src", 0x80,
    Field<"smac_47_16", 0x0, 0x20>,
    Field<"smac_15_0", 0x20, 0x10>,
    Field<"l3_ethertype", 0x30, 0x10>,
    Field<"qp_type", 0x40, 0x2>,
    Field<"ethertype_filter", 0x42, 0x1>,
    Reserved<0x43, 0x1>,
    Field<"sx_sniffer", 0x44, 0x1>,
    Field<"force_lb", 0x45, 0x1>,
    Field<"functional_lb", 0x46, 0x1>,
    Field<"port", 0x47, 0x1>,
    Reserved<0x48, 0x4>,
    Field<"first_priority", 0x4c, 0x3>,
    Field<"first_cfi", 0x4f, 0x1>,
    Field<"first_vlan_qualifier", 0x50, 0x2>,
    Reserved<0x52, 0x2>,
    Field<"first_vlan_id", 0x54, 0xc>,
    Field<"ip_fragmented", 0x60, 0x1>,
    Field<"tcp_syn", 0x61, 0x1>,
    Field<"encp_type", 0x62, 0x2>,
    Field<"l3_type", 0x64, 0x2>,
    Field<"l4_type", 0x66, 0x2>,
    Reserved<0x68, 0x4>,
    Field<"second_priority", 0x6c, 0x3>,
    Field<"second_cfi", 0x6f, 0x1>,
    Field<"second_vlan_qualifier", 0x70, 0x2>,
    Reserved<0x72, 0x2>,
    Field<"second_vlan_id", 0x74, 0xc>> {};

struct ste_eth_l2_dst : Layout<"ste_eth_l2_dst", 0x80,
    Field<"dmac_47_16", 0x0, 0x20>,
    Field<"dmac_15_0", 0x20, 0x10>,
    Field<"l3_ethertype", 0x30, 0x10>,
    Field<"qp_type", 0x40, 0x2>,
    Field<"ethertype_filter", 0x42, 0x1>,
    Reserved<0x43, 0x1>,
    Field<"sx_sniffer", 0x44, 0x1>,
    Field<"force_lb", 0x45, 0x1>,
    Field<"functional_lb", 0x46, 0x1>,
    Field<"port", 0x47, 0x1>,
    Reserved<0x48, 0x4>,
    Field<"first_priority", 0x4c, 0x3>,
    Field<"first_cfi", 0x4f, 0x1>,
    Field<"first_vlan_qualifier", 0x50, 0x2>,
    Reserved<0x52, 0x2>,
    Field<"first_vlan_id", 0x54, 0xc>,
    Field<"ip_fragmented", 0x60, 0x1>,
    Field<"tcp_syn", 0x61, 0x1>,
    Field<"encp_type", 0x62, 0x2>,
    Field<"l3_type", 0x64, 0x2>,
    Field<"l4_type", 0x66, 0x2>,
    Reserved<0x68, 0x4>,
    Field<"second_priority", 0x6c, 0x3>,
    Field<"second_cfi", 0x6f, 0x1>,
    Field<"second_vlan_qualifier", 0x70, 0x2>,
    Reserved<0x72, 0x2>,
    Field<"second_vlan_id", 0x74, 0xc>> {};

struct ste_eth_l2_src_dst : Layout<"ste_eth_l2_src_dst", 0x80,
    Field<"dmac_47_16", 0x0, 0x20>,
    Field<"dmac_15_0", 0x20, 0x10>,
    Field<"smac_47_32", 0x30, 0x10>,
    Field<"smac_31_0", 0x40, 0x20>,
    Field<"sx_sniffer", 0x60, 0x1>,
    Field<"force_lb", 0x61, 0x1>,
    Field<"functional_lb", 0x62, 0x1>,
    Field<"port", 0x63, 0x1>,
    Field<"l3_type", 0x64, 0x2>,
    Reserved<0x66, 0x6>,
    Field<"first_priority", 0x6c, 0x3>,
    Field<"first_cfi", 0x6f, 0x1>,
    Field<"first_vlan_qualifier", 0x70, 0x2>,
    Reserved<0x72, 0x2>,
    Field<"first_vlan_id", 0x74, 0xc>> {};

struct ste_eth_l2_tnl : Layout<"ste_eth_l2_tnl", 0x80,
    Field<"dmac_47_16", 0x0, 0x20>,
    Field<"dmac_15_0", 0x20, 0x10>,
    Field<"l3_ethertype", 0x30, 0x10>,
    Field<"l2_tunneling_network_id", 0x40, 0x20>,
    Field<"ip_fragmented", 0x60, 0x1>,
    Field<"tcp_syn", 0x61, 0x1>,
    Field<"encp_type", 0x62, 0x2>,
    Field<"l3_type", 0x64, 0x2>,
    Field<"l4_type", 0x66, 0x2>,
    Field<"first_priority", 0x68, 0x3>,
    Field<"first_cfi", 0x6b, 0x1>,
    Reserved<0x6c, 0x3>,
    Field<"gre_key_flag", 0x6f, 0x1>,
    Field<"first_vlan_qualifier", 0x70, 0x2>,
    Reserved<0x72, 0x2>,
    Field<"first_vlan_id", 0x74, 0xc>> {};

struct ste_eth_l3_ipv4_5_tuple : Layout<"ste_eth_l3_ipv4_5_tuple", 0x80,
    Field<"destination_address", 0x0, 0x20>,
    Field<"source_address", 0x20, 0x20>,
    Field<"source_port", 0x40, 0x10>,
    Field<"destination_port", 0x50, 0x10>,
    Field<"fragmented", 0x60, 0x1>,
    Field<"first_fragment", 0x61, 0x1>,
    Reserved<0x62, 0x3>,
    Field<"ecn", 0x65, 0x2>,
    Field<"tcp_ns", 0x67, 0x1>,
    Field<"tcp_cwr", 0x68, 0x1>,
    Field<"tcp_ece", 0x69, 0x1>,
    Field<"tcp_urg", 0x6a, 0x1>,
    Field<"tcp_ack", 0x6b, 0x1>,
    Field<"tcp_psh", 0x6c, 0x1>,
    Field<"tcp_rst", 0x6d, 0x1>,
    Field<"tcp_syn", 0x6e, 0x1>,
    Field<"tcp_fin", 0x6f, 0x1>,
    Field<"dscp", 0x70, 0x6>,
    Reserved<0x76, 0x2>,
    Field<"protocol", 0x78, 0x8>> {};

struct ste_eth_l3_ipv4_misc : Layout<"ste_eth_l3_ipv4_misc", 0x80,
    Field<"version", 0x0, 0x4>,
    Field<"ihl", 0x4, 0x4>,
    Reserved<0x8, 0x8>,
    Field<"total_length", 0x10, 0x10>,
    Field<"identification", 0x20, 0x10>,
    Field<"flags", 0x30, 0x3>,
    Field<"fragment_offset", 0x33, 0xd>,
    Field<"time_to_live", 0x40, 0x8>,
    Reserved<0x48, 0x8>,
    Field<"checksum", 0x50, 0x10>,
    Reserved<0x60, 0x20>> {};

struct ste_eth_l3_ipv6_src : Layout<"ste_eth_l3_ipv6_src", 0x80,
    Field<"src_ip_127_96", 0x0, 0x20>,
    Field<"src_ip_95_64", 0x20, 0x20>,
    Field<"src_ip_63_32", 0x40, 0x20>,
    Field<"src_ip_31_0", 0x60, 0x20>> {};

struct ste_eth_l3_ipv6_dst : Layout<"ste_eth_l3_ipv6_dst", 0x80,
    Field<"dst_ip_127_96", 0x0, 0x20>,
    Field<"dst_ip_95_64", 0x20, 0x20>,
    Field<"dst_ip_63_32", 0x40, 0x20>,
    Field<"dst_ip_31_0", 0x60, 0x20>> {};

struct ste_eth_l4 : Layout<"ste_eth_l4", 0x80,
    Field<"fragmented", 0x0, 0x1>,
    Field<"first_fragment", 0x1, 0x1>,
    Reserved<0x2, 0x6>,
    Field<"protocol", 0x8, 0x8>,
    Field<"dst_port", 0x10, 0x10>,
    Field<"ipv6_version", 0x20, 0x4>,
    Reserved<0x24, 0x1>,
    Field<"ecn", 0x25, 0x2>,
    Field<"tcp_ns", 0x27, 0x1>,
    Field<"tcp_cwr", 0x28, 0x1>,
    Field<"tcp_ece", 0x29, 0x1>,
    Field<"tcp_urg", 0x2a, 0x1>,
    Field<"tcp_ack", 0x2b, 0x1>,
    Field<"tcp_psh", 0x2c, 0x1>,
    Field<"tcp_rst", 0x2d, 0x1>,
    Field<"tcp_syn", 0x2e, 0x1>,
    Field<"tcp_fin", 0x2f, 0x1>,
    Field<"src_port", 0x30, 0x10>,
    Field<"ipv6_payload_length", 0x40, 0x10>,
    Field<"ipv6_hop_limit", 0x50, 0x8>,
    Field<"dscp", 0x58, 0x6>,
    Reserved<0x5e, 0x2>,
    Field<"tcp_data_offset", 0x60, 0x4>,
    Reserved<0x64, 0x8>,
    Field<"flow_label", 0x6c, 0x14>> {};

struct ste_eth_l4_misc : Layout<"ste_eth_l4_misc", 0x80,
    Field<"checksum", 0x0, 0x10>,
    Field<"length", 0x10, 0x10>,
    Field<"seq_num", 0x20, 0x20>,
    Field<"ack_num", 0x40, 0x20>,
    Field<"urgent_pointer", 0x60, 0x10>,
    Field<"window_size", 0x70, 0x10>> {};

struct ste_mpls : Layout<"ste_mpls", 0x80,
    Field<"mpls0_label", 0x0, 0x14>,
    Field<"mpls0_exp", 0x14, 0x3>,
    Field<"mpls0_s_bos", 0x17, 0x1>,
    Field<"mpls0_ttl", 0x18, 0x8>,
    Field<"mpls1_label", 0x20, 0x20>,
    Field<"mpls2_label", 0x40, 0x20>,
    Reserved<0x60, 0x16>,
    Field<"mpls4_s_bit", 0x76, 0x1>,
    Field<"mpls4_qualifier", 0x77, 0x1>,
    Field<"mpls3_s_bit", 0x78, 0x1>,
    Field<"mpls3_qualifier", 0x79, 0x1>,
    Field<"mpls2_s_bit", 0x7a, 0x1>,
    Field<"mpls2_qualifier", 0x7b, 0x1>,
    Field<"mpls1_s_bit", 0x7c, 0x1>,
    Field<"mpls1_qualifier", 0x7d, 0x1>,
    Field<"mpls0_s_bit", 0x7e, 0x1>,
    Field<"mpls0_qualifier", 0x7f, 0x1>> {};

struct ste_gre : Layout<"ste_gre", 0x80,
    Field<"gre_c_present", 0x0, 0x1>,
    Reserved<0x1, 0x1>,
    Field<"gre_k_present", 0x2, 0x1>,
    Field<"gre_s_present", 0x3, 0x1>,
    Field<"strict_src_route", 0x4, 0x1>,
    Field<"recur", 0x5, 0x3>,
    Field<"flags", 0x8, 0x5>,
    Field<"version", 0xd, 0x3>,
    Field<"gre_protocol", 0x10, 0x10>,
    Field<"checksum", 0x20, 0x10>,
    Field<"offset", 0x30, 0x10>,
    Field<"gre_key_h", 0x40, 0x18>,
    Field<"gre_key_l", 0x58, 0x8>,
    Field<"seq_num", 0x60, 0x20>> {};

struct ste_register_0 : Layout<"ste_register_0", 0x80,
    Field<"register_0_h", 0x0, 0x20>,
    Field<"register_0_l", 0x20, 0x20>,
    Field<"register_1_h", 0x40, 0x20>,
    Field<"register_1_l", 0x60, 0x20>> {};

struct ste_register_1 : Layout<"ste_register_1", 0x80,
    Field<"register_2_h", 0x0, 0x20>,
    Field<"register_2_l", 0x20, 0x20>,
    Field<"register_3_h", 0x40, 0x20>,
    Field<"register_3_l", 0x60, 0x20>> {};

struct ste_general_purpose : Layout<"ste_general_purpose", 0x80,
    Field<"general_purpose_lookup_field", 0x0, 0x20>,
    Reserved<0x20, 0x60>> {};

struct ste_src_gvmi_qp : Layout<"ste_src_gvmi_qp", 0x80,
    Field<"loopback_syndrome", 0x0, 0x8>,
    Reserved<0x8, 0x8>,
    Field<"source_gvmi", 0x10, 0x10>,
    Reserved<0x20, 0x5>,
    Field<"force_lb", 0x25, 0x1>,
    Field<"functional_lb", 0x26, 0x1>,
    Field<"source_is_requestor", 0x27, 0x1>,
    Field<"source_qp", 0x28, 0x18>,
    Reserved<0x40, 0x40>> {};

// ---- actions on headers ----

/// ADD has its layout too.
struct dr_action_hw_set : Layout<"dr_action_hw_set", 0x40,
    Field<"opcode", 0x0, 0x8>,
    Field<"destination_field_code", 0x8, 0x8>,
    Reserved<0x10, 0x2>,
    Field<"destination_left_shifter", 0x12, 0x6>,
    Reserved<0x18, 0x3>,
    Field<"destination_length", 0x1b, 0x5>,
    Field<"inline_data", 0x20, 0x20>> {};

struct dr_action_hw_copy : Layout<"dr_action_hw_copy", 0x40,
    Field<"opcode", 0x0, 0x8>,
    Field<"destination_field_code", 0x8, 0x8>,
    Reserved<0x10, 0x2>,
    Field<"destination_left_shifter", 0x12, 0x6>,
    Reserved<0x18, 0x2>,
    Field<"destination_length", 0x1a, 0x6>,
    Reserved<0x20, 0x8>,
    Field<"source_field_code", 0x28, 0x8>,
    Reserved<0x30, 0x2>,
    Field<"source_left_shifter", 0x32, 0x6>,
    Reserved<0x38, 0x8>> {};
// clang-format on

}  // namespace portcullis::prm
