// SPDX-License-Identifier: BSD-3-Clause
//
// What a send WQE has behind its control segment when it carries an Ethernet frame, and what a
// completion says of one that came. Source of every layout here: struct mlx5_wqe_eth_seg of
// include/linux/mlx5/qp.h and struct mlx5_cqe64 of device.h, of Linux 6.1; tests/prm holds each
// against those headers.
#pragma once

#include <cstdint>

#include "prm/cqe.hpp"
#include "prm/enums.hpp"
#include "prm/layout.hpp"

namespace portcullis::prm {

// One member a line, in the order of the header, so that the two can be read side by side.
// clang-format off
/// The first inline_hdr_sz bytes of the frame stand from inline_hdr_start on, padded to whole
/// octowords (mlx5e_sq_xmit_wqe); with kEthInsertVlan in inline_hdr_sz, inline_hdr_start is a tag.
struct mlx5_wqe_eth_seg : Layout<"mlx5_wqe_eth_seg", 0x80,
    Field<"swp_outer_l4_offset", 0x0, 0x8>,
    Field<"swp_outer_l3_offset", 0x8, 0x8>,
    Field<"swp_inner_l4_offset", 0x10, 0x8>,
    Field<"swp_inner_l3_offset", 0x18, 0x8>,
    Field<"cs_flags", 0x20, 0x8>,
    Field<"swp_flags", 0x28, 0x8>,
    Field<"mss", 0x30, 0x10>,
    Field<"flow_table_metadata", 0x40, 0x20>,
    Field<"inline_hdr_sz", 0x60, 0x10>,
    Field<"inline_hdr_start", 0x70, 0x10>> {};

/// The same 64 bytes as layout mlx5_cqe64, with what an Ethernet frame has there.
struct mlx5_ethernet_cqe : Layout<"mlx5_ethernet_cqe", 0x200,
    Reserved<0x0, 0x60>,
    Field<"rss_hash_result", 0x60, 0x20>,
    Field<"rss_hash_type", 0x80, 0x8>,
    Reserved<0x88, 0x18>,
    Field<"check_sum", 0xa0, 0x10>,
    Reserved<0xb0, 0x30>,
    Field<"hds_ip_ext", 0xe0, 0x8>,
    Field<"l4_l3_hdr_type", 0xe8, 0x8>,
    Field<"vlan_info", 0xf0, 0x10>,
    Field<"srqn", 0x100, 0x20>,
    Field<"ft_metadata", 0x120, 0x20>,
    Reserved<0x140, 0x20>,
    Field<"byte_cnt", 0x160, 0x20>,
    Reserved<0x180, 0x40>,
    Field<"sop_drop_qpn", 0x1c0, 0x20>,
    Field<"wqe_counter", 0x1e0, 0x10>,
    Reserved<0x1f0, 0x8>,
    Field<"op_own", 0x1f8, 0x8>> {};
// clang-format on

// MLX5_OPCODE_* (device.h; beside those of prm/wqe.hpp)
enum class EthernetWqeOpcode : std::uint8_t { LSO = 0x0e };

inline constexpr std::uint8_t kEthL3Csum = 1 << 6;        // MLX5_ETH_WQE_L3_CSUM
inline constexpr std::uint8_t kEthL4Csum = 1 << 7;        // MLX5_ETH_WQE_L4_CSUM
inline constexpr std::uint16_t kEthInsertVlan = 1 << 15;  // MLX5_ETH_WQE_INSERT_VLAN
inline constexpr std::uint16_t kEthSvlan = 1 << 0;        // MLX5_ETH_WQE_SVLAN

// Bits of hds_ip_ext: which headers' checksums, or lengths where they have none, are right.
inline constexpr std::uint8_t kCqeL2Ok = 1 << 0;  // MLX5_CQE_L2_OK
inline constexpr std::uint8_t kCqeL3Ok = 1 << 1;  // MLX5_CQE_L3_OK
inline constexpr std::uint8_t kCqeL4Ok = 1 << 2;  // MLX5_CQE_L4_OK

// MLX5_CQE_L3_HDR_TYPE_* (mlx5dv.h; bits 3:2 of l4_l3_hdr_type)
enum class CqeL3Type : std::uint8_t { NONE = 0, IPV6 = 1, IPV4 = 2 };

// CQE_L4_HDR_TYPE_* (source file only: device.h, get_cqe_l4_hdr_type; bits 6:4 of l4_l3_hdr_type)
enum class CqeL4Type : std::uint8_t {
  NONE = 0,
  TCP_NO_ACK = 1,
  UDP = 2,
  TCP_ACK_NO_DATA = 3,
  TCP_ACK_AND_DATA = 4,
};

[[nodiscard]] constexpr std::uint8_t l4_l3_hdr_type(CqeL4Type l4, CqeL3Type l3,
                                                    bool has_vlan) noexcept {
  return static_cast<std::uint8_t>(static_cast<unsigned>(l4) << 4 | static_cast<unsigned>(l3) << 2 |
                                   (has_vlan ? kCqeHasVlan : 0U));
}

// Which addresses were hashed: the comment at CQE_RSS_HTYPE_IP of device.h, bits 3:2 of
// rss_hash_type.
// CQE_RSS_IP_* (source file only)
enum class CqeRssIp : std::uint8_t { NONE = 0, IPV4 = 1, IPV6 = 2 };
// Which ports: CQE_RSS_HTYPE_L4, bits 7:6.
// CQE_RSS_L4_* (source file only)
enum class CqeRssL4 : std::uint8_t { NONE = 0, TCP = 1, UDP = 2 };
[[nodiscard]] constexpr std::uint8_t rss_hash_type(CqeRssIp ip, CqeRssL4 l4) noexcept {
  return static_cast<std::uint8_t>(static_cast<unsigned>(l4) << 6 | static_cast<unsigned>(ip) << 2);
}

}  // namespace portcullis::prm
