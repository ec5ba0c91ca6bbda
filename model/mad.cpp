// SPDX-License-Identifier: BSD-3-Clause
#include "model/mad.hpp"

#include <algorithm>

#include "model/port_limits.hpp"
#include "prm/enums.hpp"
#include "prm/view.hpp"

namespace portcullis::model {
namespace {

using prm::Bytes;
using prm::Field;
using prm::Layout;
using prm::Reserved;

// struct ib_smp and struct ib_port_info of include/rdma/ib_smi.h; the last dword of PortInfo and
// NodeInfo as mlx5_query_mad_ifc_port and its neighbours of mlx5_ib/mad.c read them.
// clang-format off
struct smp : Layout<"smp", 0x800,
    Field<"base_version", 0x0, 0x8>,
    Field<"mgmt_class", 0x8, 0x8>,
    Field<"class_version", 0x10, 0x8>,
    Field<"method", 0x18, 0x8>,
    Field<"status", 0x20, 0x10>,
    Field<"hop_ptr", 0x30, 0x8>,
    Field<"hop_cnt", 0x38, 0x8>,
    Field<"tid", 0x40, 0x40>,
    Field<"attr_id", 0x80, 0x10>,
    Reserved<0x90, 0x10>,
    Field<"attr_mod", 0xa0, 0x20>,
    Field<"mkey", 0xc0, 0x40>,
    Field<"dr_slid", 0x100, 0x10>,
    Field<"dr_dlid", 0x110, 0x10>,
    Reserved<0x120, 0xe0>,
    Bytes<"data", 0x200, 0x200>,
    Bytes<"initial_path", 0x400, 0x200>,
    Bytes<"return_path", 0x600, 0x200>> {};

struct port_info : Layout<"port_info", 0x200,
    Field<"mkey", 0x0, 0x40>,
    Field<"gid_prefix", 0x40, 0x40>,
    Field<"lid", 0x80, 0x10>,
    Field<"sm_lid", 0x90, 0x10>,
    Field<"cap_mask", 0xa0, 0x20>,
    Field<"diag_code", 0xc0, 0x10>,
    Field<"mkey_lease_period", 0xd0, 0x10>,
    Field<"local_port_num", 0xe0, 0x8>,
    Field<"link_width_enabled", 0xe8, 0x8>,
    Field<"link_width_supported", 0xf0, 0x8>,
    Field<"link_width_active", 0xf8, 0x8>,
    Field<"link_speed_supported", 0x100, 0x4>,
    Field<"port_state", 0x104, 0x4>,
    Field<"port_physical_state", 0x108, 0x4>,
    Field<"link_down_default", 0x10c, 0x4>,
    Field<"mkey_protection", 0x110, 0x2>,
    Reserved<0x112, 0x3>,
    Field<"lmc", 0x115, 0x3>,
    Field<"link_speed_active", 0x118, 0x4>,
    Field<"link_speed_enabled", 0x11c, 0x4>,
    Field<"neighbor_mtu", 0x120, 0x4>,
    Field<"master_sm_sl", 0x124, 0x4>,
    Field<"vl_cap", 0x128, 0x4>,
    Field<"init_type", 0x12c, 0x4>,
    Field<"vl_high_limit", 0x130, 0x8>,
    Field<"vl_arb_high_cap", 0x138, 0x8>,
    Field<"vl_arb_low_cap", 0x140, 0x8>,
    Field<"init_type_reply", 0x148, 0x4>,
    Field<"mtu_cap", 0x14c, 0x4>,
    Field<"vl_stall_count", 0x150, 0x3>,
    Field<"hoq_life", 0x153, 0x5>,
    Field<"operational_vls", 0x158, 0x4>,
    Field<"enforcement", 0x15c, 0x4>,
    Field<"mkey_violations", 0x160, 0x10>,
    Field<"pkey_violations", 0x170, 0x10>,
    Field<"qkey_violations", 0x180, 0x10>,
    Field<"guid_cap", 0x190, 0x8>,
    Field<"client_reregister", 0x198, 0x1>,
    Reserved<0x199, 0x2>,
    Field<"subnet_timeout", 0x19b, 0x5>,
    Reserved<0x1a0, 0x3>,
    Field<"resp_time_value", 0x1a3, 0x5>,
    Field<"local_phy_errors", 0x1a8, 0x4>,
    Field<"overrun_errors", 0x1ac, 0x4>,
    Field<"max_credit_hint", 0x1b0, 0x10>,
    Reserved<0x1c0, 0x8>,
    Field<"link_roundtrip_latency", 0x1c8, 0x18>,
    Field<"cap_mask2", 0x1e0, 0x10>,
    Field<"link_speed_ext_active", 0x1f0, 0x4>,
    Field<"link_speed_ext_supported", 0x1f4, 0x4>,
    Reserved<0x1f8, 0x3>,
    Field<"link_speed_ext_enabled", 0x1fb, 0x5>> {};

struct node_info : Layout<"node_info", 0x140,
    Field<"base_version", 0x0, 0x8>,
    Field<"class_version", 0x8, 0x8>,
    Field<"node_type", 0x10, 0x8>,
    Field<"num_ports", 0x18, 0x8>,
    Field<"system_image_guid", 0x20, 0x40>,
    Field<"node_guid", 0x60, 0x40>,
    Field<"port_guid", 0xa0, 0x40>,
    Field<"partition_cap", 0xe0, 0x10>,
    Field<"device_id", 0xf0, 0x10>,
    Field<"revision", 0x100, 0x20>,
    Field<"local_port_num", 0x120, 0x8>,
    Field<"vendor_id", 0x128, 0x18>> {};
// clang-format on

constexpr std::size_t kDataBytes = 64;  // IB_SMP_DATA_SIZE
using Data = std::span<std::byte, kDataBytes>;

// ib_mad.h, ib_smi.h
constexpr std::uint32_t kClassLidRouted = 0x01;       // IB_MGMT_CLASS_SUBN_LID_ROUTED
constexpr std::uint32_t kClassDirectedRoute = 0x81;   // IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE
constexpr std::uint32_t kMethodGet = 0x01;            // IB_MGMT_METHOD_GET
constexpr std::uint32_t kMethodGetResponse = 0x81;    // IB_MGMT_METHOD_GET_RESP
constexpr std::uint32_t kStatusBadVersion = 1 << 2;   // IB_MGMT_MAD_STATUS_BAD_VERSION
constexpr std::uint32_t kStatusUnsupported = 3 << 2;  // .._UNSUPPORTED_METHOD_ATTRIB
enum Attribute : std::uint32_t {
  kNodeDescription = 0x10,  // IB_SMP_ATTR_NODE_DESC
  kNodeInfo = 0x11,
  kGuidInfo = 0x14,
  kPortInfo = 0x15,
  kPkeyTable = 0x16,
};

void fill_node_info(const PortSettings& port, Data data) {
  const auto info = prm::View<node_info>::at(data);
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

void fill_port_info(const PortSettings& port, Data data) {
  // IB_WIDTH_1X and _4X; speeds of include/rdma/ib_verbs.h as PortInfo has them: QDR beside EDR.
  constexpr std::uint32_t kWidth4x = 2, kWidths = 3, kSpeedQdr = 4, kSpeeds = 7;
  constexpr std::uint32_t kExtendedEdr = 2, kExtendedSpeeds = 3;
  const auto info = prm::View<port_info>::at(data);
  info.put<"gid_prefix">(limits::kDefaultPrefix);
  info.put<"lid">(port.lid);
  info.put<"sm_lid">(port.sm_lid);
  info.set<"cap_mask", limits::kPortCapabilities>();
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
  info.set<"neighbor_mtu", limits::kMtuCode>();
  info.set<"mtu_cap", limits::kMtuCode>();
  info.set<"vl_cap", limits::kVirtualLanes>();
  info.set<"operational_vls", limits::kVirtualLanes>();
  info.set<"guid_cap", limits::kGids>();
  info.set<"subnet_timeout", limits::kSubnetTimeout>();
}

/// False: no such attribute, or no such part of it.
bool fill(const PortSettings& port, std::uint32_t attribute, std::uint32_t modifier, Data data) {
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
      if (modifier > 1) return false;
      fill_port_info(port, data);
      return true;
    case kPkeyTable: {
      // Thirty-two keys a block.
      constexpr std::uint32_t kBlocks = limits::kPkeys / 32;
      if ((modifier & 0xffff) >= kBlocks) return false;
      if ((modifier & 0xffff) == 0) data[0] = data[1] = std::byte{0xff};
      return true;
    }
    default:
      return false;
  }
}

}  // namespace

void answer_mad(const PortSettings& port, std::span<const std::byte, kMadBytes> request,
                std::span<std::byte, kMadBytes> answer) {
  std::ranges::copy(request, answer.begin());
  const auto in = prm::ConstView<smp>(request);
  const auto out = prm::View<smp>(answer);
  const Data data = out.bytes<"data">();
  out.set<"method", kMethodGetResponse>();
  const std::uint32_t management = in.get<"mgmt_class">();
  if (in.get<"base_version">() != 1 || in.get<"class_version">() != 1 ||
      (management != kClassLidRouted && management != kClassDirectedRoute)) {
    out.put<"status">(static_cast<std::uint16_t>(kStatusBadVersion));
    return;
  }
  std::ranges::fill(data, std::byte{0});
  const bool known = in.get<"method">() == kMethodGet &&
                     fill(port, in.get<"attr_id">(), in.get<"attr_mod">(), data);
  out.put<"status">(static_cast<std::uint16_t>(known ? 0U : kStatusUnsupported));
}

}  // namespace portcullis::model
