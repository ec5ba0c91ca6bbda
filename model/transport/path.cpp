// SPDX-License-Identifier: BSD-3-Clause
#include "model/transport/path.hpp"

#include <cstring>

#include "prm/enums.hpp"

namespace portcullis::model {
namespace {

using Context = prm::ConstView<prm::qpc>;

/// fe80:: with the modified EUI-64 of `mac` (RFC 4291, appendix A).
Gid link_local(const Mac& mac) {
  return Gid{
      0xfe,   0x80,   0,    0,    0,      0,      0,     0, static_cast<std::uint8_t>(mac[0] ^ 2),
      mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]};
}

Mac remote_mac(Context context) {
  const std::uint32_t high = context.get<"primary_address_path.rmac_47_32">();
  const std::uint32_t low = context.get<"primary_address_path.rmac_31_0">();
  return Mac{static_cast<std::uint8_t>(high >> 8), static_cast<std::uint8_t>(high),
             static_cast<std::uint8_t>(low >> 24), static_cast<std::uint8_t>(low >> 16),
             static_cast<std::uint8_t>(low >> 8),  static_cast<std::uint8_t>(low)};
}

bool is_usable(const RoceAddress& source, const Gid& dest, const PortSettings& port) {
  return port.roce_enabled && source.valid && source.version == prm::number(prm::RoceVersion::V2) &&
         is_ipv4_mapped(source.gid) == is_ipv4_mapped(dest);
}

/// An entry without a VLAN sends no tag, whatever the priority.
std::optional<std::uint16_t> tag_of(const RoceAddress& source, std::uint32_t priority) {
  if (!source.vlan_valid) return std::nullopt;
  return static_cast<std::uint16_t>(priority << kVlanPriorityShift |
                                    (source.vlan_id & kVlanIdMask));
}

/// The LID may still be 0 on both sides: a driver connects before the subnet manager came, and
/// frames then reach nobody (test_mlx5vfio_async_event of rdma-core does). The GID table has one
/// entry. Path bits are looked over, since LMC is 0: iPXE's driver puts the low bits of its LID
/// there, whatever LMC says (golan_post_send of golan.c).
std::optional<Path> resolve_infiniband(Context context, const PortSettings& port, Path path) {
  path.port_type = PortType::InfiniBand;
  path.dest_lid = static_cast<std::uint16_t>(context.get<"primary_address_path.rlid">());
  path.source_lid = port.lid;
  path.service_level = static_cast<std::uint8_t>(context.get<"primary_address_path.sl">());
  path.has_grh = context.get<"primary_address_path.grh">() != 0;
  path.traffic_class = static_cast<std::uint8_t>(context.get<"primary_address_path.tclass">());
  if (!path.has_grh) {
    path.dest_ip = Gid{};
    return path;
  }
  if (context.get<"primary_address_path.src_addr_index">() != 0) return std::nullopt;
  path.source_ip = port.default_gid();
  return path;
}

}  // namespace

std::optional<Path> resolve_path(Context context, const PortSettings& port) {
  Path path;
  path.dest_qpn = context.get<"remote_qpn">();
  path.udp_sport = static_cast<std::uint16_t>(context.get<"primary_address_path.udp_sport">());
  path.hop_limit = static_cast<std::uint8_t>(context.get<"primary_address_path.hop_limit">());
  path.flow_label = context.get<"primary_address_path.flow_label">();
  path.traffic_class = static_cast<std::uint8_t>(context.get<"primary_address_path.dscp">() << 2 |
                                                 context.get<"primary_address_path.ecn">());
  path.dest_mac = remote_mac(context);
  const auto dest = context.bytes<"primary_address_path.rgid_rip">();
  std::memcpy(path.dest_ip.data(), dest.data(), dest.size());

  if (port.type == PortType::InfiniBand) return resolve_infiniband(context, port, path);

  // With ads.fl a driver need not say who the peer is: the port itself (dr_devx_modify_qp_init2rtr
  // of rdma-core's dr_devx.c).
  const bool is_forced = context.get<"primary_address_path.fl">() != 0;
  const bool names_peer = !is_forced || path.dest_ip != Gid{};
  const RoceAddress& source = port.roce[context.get<"primary_address_path.src_addr_index">()];
  if (names_peer && is_usable(source, path.dest_ip, port)) {
    path.source_mac = source.mac;
    path.source_ip = source.gid;
    path.priority = static_cast<std::uint8_t>(context.get<"primary_address_path.eth_prio">());
    path.tag = tag_of(source, path.priority);
    return path;
  }
  if (!is_forced) return std::nullopt;
  path.source_mac = path.dest_mac = port.mac;
  path.source_ip = path.dest_ip = link_local(port.mac);
  return path;
}

std::optional<Path> resolve_address(prm::ConstView<prm::mlx5_wqe_av> address,
                                    const PortSettings& port) {
  Path path;
  const bool extended = (address.get<"dqp_dct">() & prm::kExtendedUdAv) != 0;
  const std::uint32_t global = extended ? address.get<"grh_gid_fl">() : 0;
  const bool infiniband = port.type == PortType::InfiniBand;
  path.port_type = port.type;
  path.transport = transport_bits::kUd;
  path.dest_qpn = address.get<"dqp_dct">() & 0xffffff;
  path.has_grh = infiniband && (global & prm::kAvGrh) != 0;
  if (!infiniband || path.has_grh) {
    if (!extended) return std::nullopt;
    const auto dest = address.bytes<"rgid">();
    std::memcpy(path.dest_ip.data(), dest.data(), dest.size());
    path.traffic_class = static_cast<std::uint8_t>(address.get<"tclass">());
    path.hop_limit = static_cast<std::uint8_t>(address.get<"hop_limit">());
    path.flow_label = global & 0xfffff;
  }
  if (infiniband) {
    path.dest_lid = static_cast<std::uint16_t>(address.get<"rlid">());
    path.source_lid = port.lid;
    path.service_level = static_cast<std::uint8_t>(address.get<"stat_rate_sl">() & 0xf);
    if (path.has_grh && prm::av_gid_index(global) != 0) return std::nullopt;
    if (path.has_grh) path.source_ip = port.default_gid();
    return path;
  }
  const RoceAddress& source = port.roce[prm::av_gid_index(global)];
  if (!is_usable(source, path.dest_ip, port)) return std::nullopt;
  path.udp_sport = static_cast<std::uint16_t>(address.get<"rlid">());
  const auto mac = address.bytes<"rmac">();
  std::memcpy(path.dest_mac.data(), mac.data(), mac.size());
  path.source_mac = source.mac;
  path.source_ip = source.gid;
  // On Ethernet the priority stands one bit higher than a service level (mlx5_create_ah).
  path.priority = static_cast<std::uint8_t>(address.get<"stat_rate_sl">() >> 1 & 0x7);
  path.tag = tag_of(source, path.priority);
  return path;
}

bool set_address(Qp& qp, prm::ConstView<prm::mlx5_wqe_av> address, const PortSettings& port) {
  const std::optional<Path> path = resolve_address(address, port);
  if (!path) return false;
  qp.path = *path;
  qp.path.pkey = pkey_of(qp, port);
  // On the lane of subnet management, if it is of QP 0.
  if (qp.wire_qpn == prm::kQp0) qp.path.virtual_lane = kManagementLane;
  qp.frame = FrameTemplate(qp.path);
  qp.force_loopback = (address.get<"fl_mlid">() & prm::kAvForceLoopback) != 0;
  return true;
}

std::uint16_t pkey_of(const Qp& qp, const PortSettings& port) noexcept {
  return port.type == PortType::InfiniBand ? port.pkeys[qp.pkey_index] : kDefaultPkey;
}

bool pkeys_match(std::uint16_t one, std::uint16_t other) noexcept {
  constexpr unsigned kBase = 0x7fff, kFullMember = 0x8000;
  return (one & kBase) != 0 && (one & kBase) == (other & kBase) &&
         ((one | other) & kFullMember) != 0;
}

std::uint32_t q_key_of(prm::ConstView<prm::mlx5_wqe_av> address, std::uint32_t own) noexcept {
  constexpr std::uint32_t kControlled = 0x80000000;
  const auto q_key = static_cast<std::uint32_t>(address.get<"key">() >> 32);
  return (q_key & kControlled) != 0 ? own : q_key;
}

}  // namespace portcullis::model
