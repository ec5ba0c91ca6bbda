// SPDX-License-Identifier: BSD-3-Clause
//
// The port as commands set it and the transport reads it. On Ethernet: MAC, RoCE switch, RoCE
// address table. On InfiniBand: what a subnet manager gave it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "model/port_type.hpp"

namespace portcullis::model {

inline constexpr std::size_t kPriorities = 8;  // of frames: 802.1Q

using Mac = std::array<std::uint8_t, 6>;
using Gid = std::array<std::uint8_t, 16>;  // IPv4 as ::ffff:a.b.c.d

/// One entry of SET_ROCE_ADDRESS.
struct RoceAddress {
  Gid gid{};
  Mac mac{};
  std::uint8_t version = 0;  // MLX5_ROCE_VERSION_1 0, _2 2
  std::uint8_t l3_type = 0;  // MLX5_ROCE_L3_TYPE_IPV4 0, _IPV6 1
  bool vlan_valid = false;
  std::uint16_t vlan_id = 0;
  bool valid = false;  // false: never set, or cleared by writing zeros
};

/// enum ib_port_state of include/rdma/ib_verbs.h.
enum class PortState : std::uint8_t { Down = 1, Init = 2, Armed = 3, Active = 4 };

/// What of PortInfo a subnet manager writes and reads back; preset to what ours gives.
struct SubnetSettings {
  std::uint64_t mkey = 0;                         // kept, and asked of nobody
  std::uint64_t gid_prefix = 0xfe80000000000000;  // IB_DEFAULT_GID_PREFIX
  std::uint16_t mkey_lease_period = 0;
  std::uint8_t mkey_protection = 0;
  std::uint8_t neighbor_mtu = 5;     // IB_MTU_4096
  std::uint8_t operational_vls = 4;  // MLX5_VL_HW_0_3
  std::uint8_t master_sm_sl = 0;
  std::uint8_t subnet_timeout = 18;  // 1.07 s, what opensm gives
};

inline constexpr std::uint16_t kDefaultPkey = 0xffff;  // BTH_DEF_PKEY

/// Of a card whose host has set no other: "MT4119 ConnectX5   Mellanox Technologies", as saquery
/// printed it in a report to linux-rdma (June 2020, "rdma-ndd").
[[nodiscard]] constexpr std::array<std::byte, 64> default_node_description() noexcept {
  constexpr std::string_view kText = "MT4119 ConnectX5   Mellanox Technologies";
  std::array<std::byte, 64> bytes{};
  std::ranges::transform(kText, bytes.begin(), [](char c) { return std::byte(c); });
  return bytes;
}

struct PortSettings {
  static constexpr std::size_t kRoceAddresses = 256;  // roce_cap.roce_address_table_size
  static constexpr std::size_t kPkeys = 128;          // of an InfiniBand port

  static constexpr std::uint16_t kEthernetFrameBytes = 1522;  // before PMTU is written
  static constexpr std::uint64_t kGbps = 100;                 // what PTYS says of an Ethernet link

  // The receive buffer, in cells of MLX5E_BUFFER_CELL_SHIFT (mlx5/core/en_dcbnl.c). How large
  // it is, and where a buffer without thresholds of its own stops the other end, is assumed.
  static constexpr std::size_t kBuffers = 8;
  static constexpr std::size_t kCellBytes = 128;
  static constexpr std::uint16_t kBufferCells = 2048;
  struct Thresholds {
    std::uint16_t xoff = 0, xon = 0;
  };
  /// bufferx_reg of pbmc_reg.
  struct Buffer {
    bool is_lossy = true;
    std::uint16_t size = 0;
    Thresholds at = {};
  };
  /// ets_tcn_config_reg of qetc_reg: it reads back, and no traffic class is preferred.
  struct TrafficClass {
    std::uint8_t group = 0;
    std::uint8_t bandwidth = 0;  // percent
    std::uint8_t rate_units = 0, rate = 0;
  };
  /// Of an InfiniBand link, bits of enum mlx5_ptys_rate: SDR, DDR, QDR, FDR, EDR.
  static constexpr std::uint16_t kIbSpeeds = 0x37;
  static constexpr std::uint8_t kTrustPcp = 1, kTrustDscp = 2;    // MLX5_QPTS_TRUST_*
  static constexpr std::uint8_t kNoFec = 1, kReedSolomonFec = 4;  // bits of enum mlx5e_fec_modes

  PortType type = PortType::Ethernet;
  Mac mac{};
  bool roce_enabled = false;     // nic_vport_context.roce_en
  bool admin_up = true;          // paos_reg.admin_status
  bool link_up = true;           // paos_reg.oper_status
  std::uint32_t link_downs = 0;  // phys_layer_cntrs.link_down_events
  PortState state = PortState::Active;
  std::uint16_t lid = 0;  // 0: the subnet manager has not been here
  std::uint16_t sm_lid = 0;
  SubnetSettings subnet;
  std::array<std::uint16_t, kPkeys> pkeys{kDefaultPkey};  // 0: none. Of Ethernet the first alone
  std::uint32_t agent_capabilities = 0;  // limits::kAgentCapabilities, those that are on
  std::uint16_t mtu = 0;                 // pmtu_reg.admin_mtu; 0: never set
  std::uint16_t vport_mtu = 1500;        // nic_vport_context.mtu
  std::vector<Mac> unicast;              // its current_uc_mac_address
  std::vector<Mac> multicast;            // its list of that kind
  std::vector<std::uint16_t> vlans;      // likewise; they decide nothing
  bool promisc_uc = false, promisc_mc = false, promisc_all = false;
  bool loops_unicast = true, loops_multicast = true;  // its disable_{uc,mc}_local_lb, the other way
  bool vport_up = true;                               // MODIFY_VPORT_STATE
  std::map<std::uint32_t, Mac> l2_table;              // SET_L2_TABLE_ENTRY, by index
  bool pause_tx = false, pause_rx = false;            // pfcc_reg.pptx and pprx
  std::uint8_t pfc_tx = 0, pfc_rx = 0;                // its pfctx and pfcrx, a bit a priority
  std::array<Buffer, kBuffers> buffers{Buffer{.size = kBufferCells}};
  std::array<std::uint8_t, kPriorities> priority_buffer{};  // pptb_reg.prio_x_buff
  std::uint8_t untagged_buffer = 0;                         // its untagged_buff: reads back
  // Of the pauses that the port asks for: how long, and after what time again, in quanta, as
  // mlxsw/reg.h of Linux says of both in its PBMC; 0: after half of it. That this card reads the
  // second as that switch does is a hypothesis.
  std::uint16_t pause_quanta = 0xffff, pause_refresh = 0x7fff;
  std::array<TrafficClass, kPriorities> classes{};         // qetc_reg
  std::array<std::uint8_t, kPriorities> priority_class{};  // qtct_reg
  std::uint8_t trust = kTrustPcp;                          // qpts_reg
  std::uint16_t ib_speeds = kIbSpeeds;                     // ptys_reg.ib_proto_admin
  std::array<std::uint8_t, 64> dscp_priority{};            // qpdpm_reg
  std::array<std::byte, 64> node_description = default_node_description();  // register NODE_DESC
  std::array<RoceAddress, kRoceAddresses> roce{};
  // Of pplm_reg: fec_override_admin_100g, where 0 leaves it to the port, and fec_mode_active while
  // the link is up.
  std::uint8_t fec_admin = 0, fec_active = kNoFec;
  std::uint16_t beacon_seconds = 0;   // mlcr_reg.beacon_duration
  std::uint64_t beacon_since_ns = 0;  // when that was written

  /// Longest frame that an Ethernet port carries, less the FCS, which is not among a frame's bytes
  /// here.
  [[nodiscard]] std::size_t most_frame_bytes() const noexcept {
    constexpr std::size_t kFcs = 4;
    return (mtu != 0 ? mtu : kEthernetFrameBytes) - kFcs;
  }
  /// Priorities that a frame of the other end may stop. With priority-based flow control PAUSE is
  /// not obeyed, a hypothesis: drivers set one of the two on a link.
  [[nodiscard]] std::uint8_t obeyed(bool is_per_priority) const noexcept {
    if (is_per_priority) return pfc_rx;
    return pause_rx && pfc_rx == 0 ? 0xff : 0;
  }
  /// Priorities that the port stops before it loses of them.
  [[nodiscard]] std::uint8_t stops() const noexcept {
    if (pfc_tx != 0) return pfc_tx;
    return pause_tx ? 0xff : 0;
  }
  [[nodiscard]] Thresholds thresholds(std::size_t buffer) const noexcept {
    const Buffer& of = buffers[buffer];
    if (!of.is_lossy && of.at.xoff != 0) return of.at;
    return {static_cast<std::uint16_t>(of.size / 2), static_cast<std::uint16_t>(of.size / 4)};
  }
  /// Of an InfiniBand port only ACTIVE carries more than management datagrams.
  [[nodiscard]] bool carries_data() const noexcept {
    return link_up && vport_up && (type == PortType::Ethernet || state == PortState::Active);
  }
  /// An EUI-64 of the MAC, as addrconf_addr_eui48 makes one: node, port and system.
  [[nodiscard]] std::uint64_t guid() const noexcept {
    return std::uint64_t{mac[0] ^ 2U} << 56 | std::uint64_t{mac[1]} << 48 |
           std::uint64_t{mac[2]} << 40 | std::uint64_t{0xfffe} << 24 | std::uint64_t{mac[3]} << 16 |
           std::uint64_t{mac[4]} << 8 | mac[5];
  }
  /// Entry 0 of an InfiniBand port's GID table: the subnet's prefix, fe80::/64 before there is one,
  /// and the GUID.
  [[nodiscard]] Gid default_gid() const noexcept {
    Gid gid;
    for (std::size_t i = 0; i < 8; ++i) {
      gid[i] = static_cast<std::uint8_t>(subnet.gid_prefix >> (56 - 8 * i));
      gid[8 + i] = static_cast<std::uint8_t>(guid() >> (56 - 8 * i));
    }
    return gid;
  }
};

}  // namespace portcullis::model
