// SPDX-License-Identifier: BSD-3-Clause
#include "model/mad.hpp"

#include <algorithm>
#include <cstring>

#include "base/cells.hpp"
#include "model/port_limits.hpp"
#include "prm/enums.hpp"
#include "prm/mad.hpp"
#include "prm/view.hpp"

namespace portcullis::model {
namespace {

constexpr std::size_t kDataBytes = 64;  // IB_SMP_DATA_SIZE
using Data = std::span<std::byte, kDataBytes>;

// include/rdma/ib_mad.h and ib_smi.h
constexpr std::uint32_t kClassLidRouted = 0x01;      // IB_MGMT_CLASS_SUBN_LID_ROUTED
constexpr std::uint32_t kClassDirectedRoute = 0x81;  // IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE
enum Attribute : std::uint32_t {
  kNodeDescription = 0x10,  // IB_SMP_ATTR_NODE_DESC
  kNodeInfo = 0x11,
  kGuidInfo = 0x14,
  kPortInfo = 0x15,
  kPkeyTable = 0x16,
  kSlToVlTable = 0x17,
  kExtendedPortInfo = 0xff90,  // Mellanox': MLX5_ATTR_EXTENDED_PORT_INFO of mlx5/device.h
};

void fill_node_info(const PortSettings& port, Data data) {
  const auto info = prm::View<prm::ib_node_info>::at(data);
  info.set<"base_version", 1>();
  info.set<"class_version", 1>();
  info.set<"node_type", 1>();  // IB_NODE_CA
  info.set<"num_ports", 1>();
  info.set<"local_port_num", 1>();
  info.put<"system_image_guid">(port.guid());
  info.put<"node_guid">(port.guid());
  info.put<"port_guid">(port.guid());
  info.set<"partition_cap", limits::kPkeys>();
  info.set<"device_id", limits::kDeviceId>();
  info.set<"vendor_id", limits::kOui>();
}

void fill_port_info(const PortSettings& port, const KeyViolations& violations, Data data) {
  // IB_WIDTH_1X and _4X; speeds of include/rdma/ib_verbs.h as PortInfo has them: QDR beside EDR.
  constexpr std::uint32_t kWidth4x = 2, kWidths = 3, kSpeedQdr = 4, kSpeeds = 7;
  constexpr std::uint32_t kExtendedEdr = 2, kExtendedSpeeds = 3;
  const auto info = prm::View<prm::ib_port_info>::at(data);
  const SubnetSettings& subnet = port.subnet;
  info.put<"mkey">(subnet.mkey);
  info.put<"gid_prefix">(subnet.gid_prefix);
  info.put<"mkey_lease_period">(subnet.mkey_lease_period);
  info.put<"lid">(port.lid);
  info.put<"sm_lid">(port.sm_lid);
  info.put<"cap_mask">(limits::port_capabilities(port));
  info.set<"local_port_num", 1>();
  info.set<"link_width_enabled", kWidths>();
  info.set<"link_width_supported", kWidths>();
  info.set<"link_width_active", kWidth4x>();
  info.set<"link_speed_supported", kSpeeds>();
  info.set<"link_speed_enabled", kSpeeds>();
  info.set<"link_speed_active", kSpeedQdr>();
  info.set<"link_speed_ext_active", kExtendedEdr>();
  info.set<"link_speed_ext_supported", kExtendedSpeeds>();
  info.set<"link_speed_ext_enabled", kExtendedSpeeds>();
  static_cast<void>(info.try_set<"port_state">(prm::number(port.state)));
  static_cast<void>(info.try_set<"port_physical_state">(limits::physical_state(port)));
  static_cast<void>(info.try_set<"mkey_protection">(subnet.mkey_protection));
  static_cast<void>(info.try_set<"neighbor_mtu">(subnet.neighbor_mtu));
  static_cast<void>(info.try_set<"master_sm_sl">(subnet.master_sm_sl));
  info.put<"pkey_violations">(violations.pkey);
  info.put<"qkey_violations">(violations.qkey);
  info.set<"mtu_cap", limits::kMtuCode>();
  info.set<"vl_cap", limits::kVirtualLanes>();
  static_cast<void>(info.try_set<"operational_vls">(subnet.operational_vls));
  info.set<"guid_cap", limits::kGids>();
  static_cast<void>(info.try_set<"subnet_timeout">(subnet.subnet_timeout));
}

/// The port that an attribute modifier of PortInfo names, 0 for that which hears it. Above, a
/// manager says that it knows extended speeds (SMSupportExtendedSpeeds of opensm's osm_link_mgr.c).
std::uint32_t port_of(std::uint32_t modifier) { return modifier & ~(std::uint32_t{1} << 31); }

bool is_of_subnet(prm::ConstView<prm::ib_smp> in) {
  const std::uint32_t management = in.get<"mgmt_class">();
  return in.get<"base_version">() == 1 && in.get<"class_version">() == 1 &&
         (management == kClassLidRouted || management == kClassDirectedRoute);
}

/// The block of the P_Key table that a modifier names; above it stands a switch's port.
std::optional<std::uint32_t> block_of(std::uint32_t modifier) {
  const std::uint32_t block = modifier & 0xffff;
  if (block >= limits::kPkeys / PkeyOrder::kKeys) return std::nullopt;
  return block;
}

/// False: no such attribute, or no such part of it.
bool fill(const PortSettings& port, const KeyViolations& violations, std::uint32_t attribute,
          std::uint32_t modifier, Data data) {
  switch (attribute) {
    case kNodeDescription:
      std::ranges::copy(port.node_description, data.begin());
      return true;
    case kNodeInfo:
      fill_node_info(port, data);
      return true;
    case kGuidInfo: {
      // Eight GUIDs a block; the table has one block.
      if (modifier != 0) return false;
      const Gid gid = port.default_gid();
      std::transform(gid.begin() + 8, gid.end(), data.begin(),
                     [](std::uint8_t b) { return std::byte{b}; });
      return true;
    }
    case kPortInfo:
      if (port_of(modifier) > 1) return false;
      fill_port_info(port, violations, data);
      return true;
    case kPkeyTable: {
      const std::optional<std::uint32_t> block = block_of(modifier);
      if (!block) return false;
      for (std::size_t i = 0; i < PkeyOrder::kKeys; ++i) {
        const std::uint16_t key = cells::be16(port.pkeys[*block * PkeyOrder::kKeys + i]);
        std::memcpy(data.data() + i * sizeof key, &key, sizeof key);
      }
      return true;
    }
    case kSlToVlTable:
      return true;  // every service level goes by lane 0
    case kExtendedPortInfo:
      return modifier <= 1;  // no speeds but those that PortInfo has
    default:
      return false;
  }
}

}  // namespace

/// State 0 leaves the state as it is (IB_LINK_NO_CHANGE of opensm's iba/ib_types.h). So here does 0
/// in what has no value 0, an MTU or a number of lanes.
std::optional<PortOrder> port_order(const PortSettings& port,
                                    std::span<const std::byte, kMadBytes> request) {
  const auto in = prm::ConstView<prm::ib_smp>(request);
  if (!is_of_subnet(in) || in.get<"method">() != mad::kMethodSet ||
      in.get<"attr_id">() != kPortInfo || port_of(in.get<"attr_mod">()) > 1)
    return std::nullopt;
  const auto info = prm::ConstView<prm::ib_port_info>::at(in.bytes<"data">());
  const auto half = [](std::uint32_t value) { return static_cast<std::uint16_t>(value); };
  const auto byte = [](std::uint32_t value) { return static_cast<std::uint8_t>(value); };
  const auto or_else = [&](std::uint32_t value, std::uint8_t present) {
    return value != 0 ? byte(value) : present;
  };
  PortOrder order;
  order.lid = half(info.get<"lid">());
  order.sm_lid = half(info.get<"sm_lid">());
  if (info.get<"port_state">() != 0) order.state = PortState{byte(info.get<"port_state">())};
  order.physical_state = byte(info.get<"port_physical_state">());
  order.clears_pkey_violations = info.get<"pkey_violations">() == 0;
  order.clears_qkey_violations = info.get<"qkey_violations">() == 0;
  order.reregister = info.get<"client_reregister">() != 0;
  order.subnet = {
      .mkey = info.get<"mkey">(),
      .gid_prefix = info.get<"gid_prefix">(),
      .mkey_lease_period = half(info.get<"mkey_lease_period">()),
      .mkey_protection = byte(info.get<"mkey_protection">()),
      .neighbor_mtu = or_else(info.get<"neighbor_mtu">(), port.subnet.neighbor_mtu),
      .operational_vls = or_else(info.get<"operational_vls">(), port.subnet.operational_vls),
      .master_sm_sl = byte(info.get<"master_sm_sl">()),
      .subnet_timeout = byte(info.get<"subnet_timeout">())};
  return order;
}

std::optional<PkeyOrder> pkey_order(std::span<const std::byte, kMadBytes> request) {
  const auto in = prm::ConstView<prm::ib_smp>(request);
  if (!is_of_subnet(in) || in.get<"method">() != mad::kMethodSet ||
      in.get<"attr_id">() != kPkeyTable)
    return std::nullopt;
  const auto block = block_of(in.get<"attr_mod">());
  if (!block) return std::nullopt;
  PkeyOrder order{.block = *block};
  std::memcpy(order.keys.data(), in.bytes<"data">().data(), sizeof order.keys);
  std::ranges::transform(order.keys, order.keys.begin(), cells::be16);
  return order;
}

void answer_mad(const PortSettings& port, const KeyViolations& violations,
                std::span<const std::byte, kMadBytes> request,
                std::span<std::byte, kMadBytes> answer, OrderEnd end) {
  std::ranges::copy(request, answer.begin());
  const auto in = prm::ConstView<prm::ib_smp>(request);
  const auto out = prm::View<prm::ib_smp>(answer);
  const Data data = out.bytes<"data">();
  out.set<"method", mad::kMethodGetResponse>();
  if (!is_of_subnet(in)) {
    out.put<"status">(static_cast<std::uint16_t>(mad::kStatusBadVersion));
    return;
  }
  std::ranges::fill(data, std::byte{0});
  const bool is_order = port_order(port, request) || pkey_order(request);
  const bool is_answered =
      in.get<"method">() == mad::kMethodGet || (is_order && end != OrderEnd::NotTaken);
  const bool is_known =
      is_answered && fill(port, violations, in.get<"attr_id">(), in.get<"attr_mod">(), data);
  std::uint32_t status = is_known ? 0 : mad::kStatusUnsupported;
  if (is_known && end == OrderEnd::BadValue) status = mad::kStatusBadValue;
  out.put<"status">(static_cast<std::uint16_t>(status));
}

}  // namespace portcullis::model
