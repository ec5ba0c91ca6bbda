// SPDX-License-Identifier: BSD-3-Clause
//
// What entries of flow tables put around a frame and take off it: headers of a tunnel, and a tag.
// Tunnels that are taken off: VXLAN at UDP port 4789 (of ConnectX-5 DPDK's guide of mlx5 demands
// that port), geneve at 6081, GRE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace portcullis::model {

using FrameBuffer = std::vector<std::byte>;

/// What is in a tunnel.
struct TunnelInside {
  std::uint16_t ethertype = 0;  // of what `bytes` begin with; 0x6558: of a whole Ethernet frame
  std::span<const std::byte> bytes;
  std::uint32_t network = 0;  // of VXLAN and geneve: the VNI
};
inline constexpr std::uint16_t kEthertypeFrame = 0x6558;  // ETH_P_TEB: a whole Ethernet frame
[[nodiscard]] std::optional<TunnelInside> find_inside(std::span<const std::byte> frame);

/// What of a frame goes into the tunnel.
enum class TunnelLoad : std::uint8_t { WholeFrame, NetworkPacket };

/// `header`, which begins with an Ethernet header, and behind it the frame. Lengths of the outer
/// network and UDP header and IPv4's checksum are made to fit: Linux leaves them 0
/// (gen_eth_tnl_hdr and its callers in mlx5/core/en/tc_tun.c). The rest of `header` stays. A card
/// may write IPv4's identification and a source port of UDP of its own: test_tx_packet_reformat of
/// rdma-core's test_mlx5_flow.py does not look at those.
[[nodiscard]] FrameBuffer wrap(std::span<const std::byte> frame, std::span<const std::byte> header,
                               TunnelLoad load);
/// The frame in a tunnel of Ethernet; nothing when `frame` is not one.
[[nodiscard]] std::optional<FrameBuffer> unwrap_frame(std::span<const std::byte> frame);
/// `header` and the IP packet in a tunnel of IP; nothing when `frame` is not one.
[[nodiscard]] std::optional<FrameBuffer> unwrap_packet(std::span<const std::byte> frame,
                                                       std::span<const std::byte> header);

/// `tag` is its ethertype and what follows.
[[nodiscard]] FrameBuffer push_tag(std::span<const std::byte> frame, std::uint32_t tag);
/// Without the outermost tag; nothing when there is none.
[[nodiscard]] std::optional<FrameBuffer> pop_tag(std::span<const std::byte> frame);

}  // namespace portcullis::model
