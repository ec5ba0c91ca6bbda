// SPDX-License-Identifier: BSD-3-Clause
//
// Values of the fields of prm/flow_action_commands.hpp. As in prm/enums.hpp each enum says how the
// kernel spells its enumerators, and tests/prm compares them.
#pragma once

#include <cstdint>

namespace portcullis::prm {

// MLX5_ACTION_TYPE_* (mlx5_ifc.h; set_action_in.action_type)
enum class HeaderChange : std::uint8_t { SET = 0x1, ADD = 0x2, COPY = 0x3 };

// MLX5_ACTION_IN_FIELD_* (mlx5_ifc.h; set_action_in.field)
enum class HeaderField : std::uint16_t {
  OUT_SMAC_47_16 = 0x1,
  OUT_SMAC_15_0 = 0x2,
  OUT_ETHERTYPE = 0x3,
  OUT_DMAC_47_16 = 0x4,
  OUT_DMAC_15_0 = 0x5,
  OUT_IP_DSCP = 0x6,
  OUT_TCP_FLAGS = 0x7,
  OUT_TCP_SPORT = 0x8,
  OUT_TCP_DPORT = 0x9,
  OUT_IP_TTL = 0xa,
  OUT_UDP_SPORT = 0xb,
  OUT_UDP_DPORT = 0xc,
  OUT_SIPV6_127_96 = 0xd,
  OUT_SIPV6_95_64 = 0xe,
  OUT_SIPV6_63_32 = 0xf,
  OUT_SIPV6_31_0 = 0x10,
  OUT_DIPV6_127_96 = 0x11,
  OUT_DIPV6_95_64 = 0x12,
  OUT_DIPV6_63_32 = 0x13,
  OUT_DIPV6_31_0 = 0x14,
  OUT_SIPV4 = 0x15,
  OUT_DIPV4 = 0x16,
  OUT_FIRST_VID = 0x17,
  OUT_IPV6_HOPLIMIT = 0x47,
  METADATA_REG_B = 0x50,
  OUT_TCP_SEQ_NUM = 0x59,
  OUT_TCP_ACK_NUM = 0x5b,
};

// MLX5_REFORMAT_TYPE_* (mlx5_ifc.h; packet_reformat_context_in.reformat_type)
enum class ReformatType : std::uint8_t {
  L2_TO_VXLAN = 0x0,
  L2_TO_NVGRE = 0x1,
  L2_TO_L2_TUNNEL = 0x2,
  L3_TUNNEL_TO_L2 = 0x3,
  L2_TO_L3_TUNNEL = 0x4,
  INSERT_HDR = 0xf,
};

}  // namespace portcullis::prm
