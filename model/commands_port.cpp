// SPDX-License-Identifier: BSD-3-Clause
//
// The port: RoCE address table, NIC vport context, state (mlx5/core/lib/gid.c, vport.c).
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "model/commands.hpp"
#include "model/core.hpp"
#include "prm/enums.hpp"
#include "prm/ethernet_port_commands.hpp"

namespace portcullis::model::commands {
namespace {

using prm::CommandStatus;

constexpr std::uint32_t kPort = 1;  // num_ports; 0 means the function's own

enum Refusal : std::uint32_t {
  kNoSuchIndex = 0x6001,
  kNoSuchPort,
  kBadVersion,
  kBadL3Type,
  kOtherVport,
  kNotOffered,
  kNoSuchState,
  kBadMac,
  kNotEthernet,
  kLongList,
  kShortList,
};

Mac mac_of(std::uint32_t high, std::uint32_t low) {
  return {static_cast<std::uint8_t>(high >> 8), static_cast<std::uint8_t>(high),
          static_cast<std::uint8_t>(low >> 24), static_cast<std::uint8_t>(low >> 16),
          static_cast<std::uint8_t>(low >> 8),  static_cast<std::uint8_t>(low)};
}
std::uint16_t high_of(const Mac& mac) { return static_cast<std::uint16_t>(mac[0] << 8 | mac[1]); }
std::uint32_t low_of(const Mac& mac) {
  return std::uint32_t{mac[2]} << 24 | std::uint32_t{mac[3]} << 16 | std::uint32_t{mac[4]} << 8 |
         mac[5];
}

template <class View>
Verdict check_index(const Core& core, const View& in) {
  if (core.port.type != PortType::Ethernet)
    return refuse(CommandStatus::BAD_PARAM_ERR, kNotEthernet);
  if (in.template get<"vhca_port_num">() > kPort)
    return refuse(CommandStatus::BAD_PARAM_ERR, kNoSuchPort);
  if (in.template get<"roce_address_index">() >= PortSettings::kRoceAddresses)
    return refuse(CommandStatus::IX_ERR, kNoSuchIndex);
  return {};
}

template <class View>
bool is_own_vport(const View& in) {
  return in.template get<"other_vport">() == 0 && in.template get<"vport_number">() == 0;
}

/// How many entries a list may have, by its type; nothing for a type that there is not.
std::optional<std::size_t> most_entries(std::uint32_t type) {
  switch (prm::NvprtListType{static_cast<std::uint8_t>(type)}) {
    case prm::NvprtListType::UC:
      return std::size_t{1} << Capabilities::kLogMaxUcList;
    case prm::NvprtListType::MC:
      return std::size_t{1} << Capabilities::kLogMaxMcList;
    case prm::NvprtListType::VLAN:
      return std::size_t{1} << Capabilities::kLogMaxVlanList;
  }
  return std::nullopt;
}

static_assert(prm::mac_address_layout::bytes == prm::vlan_layout::bytes);

/// The list behind the context (mlx5_modify_nic_vport_mac_list and _vlans of mlx5_core, which send
/// no more than the capabilities have room for).
Verdict set_list(prm::ConstView<prm::modify_nic_vport_context_in> in,
                 std::span<const std::byte> tail, PortSettings& port) {
  constexpr std::size_t kBeforeMac = 2;
  constexpr std::size_t kEntry = prm::mac_address_layout::bytes;
  const std::uint32_t type = in.get<"nic_vport_context.allowed_list_type">();
  const auto most = most_entries(type);
  if (!most) return refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);
  const std::size_t count = in.get<"nic_vport_context.allowed_list_size">();
  if (count > *most) return refuse(CommandStatus::BAD_PARAM_ERR, kLongList);
  if (tail.size() < count * kEntry) return refuse(CommandStatus::BAD_INP_LEN_ERR, kShortList);
  std::vector<Mac> addresses(count);
  std::vector<std::uint16_t> vlans(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(addresses[i].data(), tail.data() + i * kEntry + kBeforeMac, addresses[i].size());
    vlans[i] = static_cast<std::uint16_t>(
        prm::ConstView<prm::vlan_layout>::at(tail, i * kEntry).get<"vlan">());
  }
  if (type == prm::number(prm::NvprtListType::UC))
    port.unicast = std::move(addresses);
  else if (type == prm::number(prm::NvprtListType::MC))
    port.multicast = std::move(addresses);
  else
    port.vlans = std::move(vlans);
  return {};
}

/// As far as there is room; how many there are is said all the same.
void get_list(const PortSettings& port, prm::NvprtListType type,
              prm::View<prm::nic_vport_context> context, std::span<std::byte> tail) {
  const std::vector<Mac>& addresses =
      type == prm::NvprtListType::UC ? port.unicast : port.multicast;
  const bool is_vlan = type == prm::NvprtListType::VLAN;
  const std::size_t count = is_vlan ? port.vlans.size() : addresses.size();
  static_cast<void>(context.try_set<"allowed_list_type">(prm::number(type)));
  static_cast<void>(context.try_set<"allowed_list_size">(count));
  for (std::size_t i = 0; i < count; ++i) {
    prm::Buffer<prm::mac_address_layout> mac;
    prm::Buffer<prm::vlan_layout> vlan;
    if (is_vlan)
      vlan.put<"vlan">(port.vlans[i]);
    else
      mac.put<"mac_addr_47_32">(high_of(addresses[i])).put<"mac_addr_31_0">(low_of(addresses[i]));
    put_in_tail(tail, i * mac.all().size(), is_vlan ? vlan.all() : mac.all());
  }
}

}  // namespace

Verdict set_roce_address(
    Core& core, const Request<prm::set_roce_address_in, prm::set_roce_address_out>& request) {
  if (const Verdict verdict = check_index(core, request.in); !verdict.ok()) return verdict;
  const auto layout = prm::ConstView<prm::roce_addr_layout>::at(request.in.bytes<"roce_address">());
  RoceAddress address;
  const auto gid = layout.bytes<"source_l3_address">();
  std::memcpy(address.gid.data(), gid.data(), gid.size());
  address.mac = mac_of(layout.get<"source_mac_47_32">(), layout.get<"source_mac_31_0">());
  address.version = static_cast<std::uint8_t>(layout.get<"roce_version">());
  address.l3_type = static_cast<std::uint8_t>(layout.get<"roce_l3_type">());
  address.vlan_valid = layout.get<"vlan_valid">() != 0;
  address.vlan_id = static_cast<std::uint16_t>(layout.get<"vlan_id">());
  // An entry is cleared by writing zeros (mlx5_core_roce_gid_set with no gid).
  address.valid = address.gid != Gid{} || address.mac != Mac{};
  if (address.valid && address.version != prm::number(prm::RoceVersion::V2))
    return refuse(CommandStatus::BAD_PARAM_ERR, kBadVersion);  // roce_cap offers v2 alone
  if (address.l3_type > prm::number(prm::RoceL3Type::IPV6))
    return refuse(CommandStatus::BAD_PARAM_ERR, kBadL3Type);
  core.port.roce[request.in.get<"roce_address_index">()] = address;
  core.transport->port_changed();
  return {};
}

Verdict query_roce_address(
    Core& core, const Request<prm::query_roce_address_in, prm::query_roce_address_out>& request) {
  if (const Verdict verdict = check_index(core, request.in); !verdict.ok()) return verdict;
  const RoceAddress& address = core.port.roce[request.in.get<"roce_address_index">()];
  const auto layout = prm::View<prm::roce_addr_layout>::at(request.out.bytes<"roce_address">());
  std::memcpy(layout.bytes<"source_l3_address">().data(), address.gid.data(), address.gid.size());
  layout.put<"source_mac_47_32">(high_of(address.mac));
  layout.put<"source_mac_31_0">(low_of(address.mac));
  layout.put<"roce_version">(address.version);
  static_cast<void>(layout.try_set<"roce_l3_type">(address.l3_type));
  static_cast<void>(layout.try_set<"vlan_valid">(address.vlan_valid ? 1 : 0));
  static_cast<void>(layout.try_set<"vlan_id">(address.vlan_id));
  return {};
}

Verdict modify_nic_vport_context(
    Core& core,
    const Request<prm::modify_nic_vport_context_in, prm::modify_nic_vport_context_out>& request) {
  const auto& in = request.in;
  if (core.port.type != PortType::Ethernet)
    return refuse(CommandStatus::BAD_PARAM_ERR, kNotEthernet);
  if (!is_own_vport(in)) return refuse(CommandStatus::BAD_PARAM_ERR, kOtherVport);
  if (in.get<"field_select.affiliation">() != 0 || in.get<"field_select.node_guid">() != 0 ||
      in.get<"field_select.port_guid">() != 0 || in.get<"field_select.min_inline">() != 0 ||
      in.get<"field_select.change_event">() != 0)
    return refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);
  PortSettings port = core.port;
  if (in.get<"field_select.addresses_list">() != 0) {
    if (const Verdict verdict = set_list(in, request.in_tail, port); !verdict.ok()) return verdict;
  }
  if (in.get<"field_select.permanent_address">() != 0) {
    const Mac mac = mac_of(in.get<"nic_vport_context.permanent_address.mac_addr_47_32">(),
                           in.get<"nic_vport_context.permanent_address.mac_addr_31_0">());
    if ((mac[0] & 1) != 0 || mac == Mac{}) return refuse(CommandStatus::BAD_PARAM_ERR, kBadMac);
    port.mac = mac;
  }
  if (in.get<"field_select.roce_en">() != 0)
    port.roce_enabled = in.get<"nic_vport_context.roce_en">() != 0;
  if (in.get<"field_select.mtu">() != 0)
    port.vport_mtu = static_cast<std::uint16_t>(in.get<"nic_vport_context.mtu">());
  if (in.get<"field_select.promisc">() != 0) {
    port.promisc_uc = in.get<"nic_vport_context.promisc_uc">() != 0;
    port.promisc_mc = in.get<"nic_vport_context.promisc_mc">() != 0;
    port.promisc_all = in.get<"nic_vport_context.promisc_all">() != 0;
  }
  if (in.get<"field_select.disable_uc_local_lb">() != 0)
    port.loops_unicast = in.get<"nic_vport_context.disable_uc_local_lb">() == 0;
  if (in.get<"field_select.disable_mc_local_lb">() != 0)
    port.loops_multicast = in.get<"nic_vport_context.disable_mc_local_lb">() == 0;
  core.port = std::move(port);
  core.transport->port_changed();
  return {};
}

Verdict query_nic_vport_context(
    Core& core,
    const Request<prm::query_nic_vport_context_in, prm::query_nic_vport_context_out>& request) {
  if (core.port.type != PortType::Ethernet)
    return refuse(CommandStatus::BAD_PARAM_ERR, kNotEthernet);
  if (!is_own_vport(request.in)) return refuse(CommandStatus::BAD_PARAM_ERR, kOtherVport);
  const std::uint32_t list = request.in.get<"allowed_list_type">();
  if (!most_entries(list)) return refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);
  const auto context =
      prm::View<prm::nic_vport_context>::at(request.out.bytes<"nic_vport_context">());
  const std::uint64_t guid = core.port.guid();
  static_cast<void>(context.try_set<"roce_en">(core.port.roce_enabled ? 1 : 0));
  context.put<"mtu">(core.port.vport_mtu);
  context.put<"system_image_guid">(guid);
  context.put<"port_guid">(guid);
  context.put<"node_guid">(guid);
  context.put<"qkey_violation_counter">(core.port_counters.violations.qkey);
  context.put<"permanent_address.mac_addr_47_32">(high_of(core.port.mac));
  context.put<"permanent_address.mac_addr_31_0">(low_of(core.port.mac));
  static_cast<void>(context.try_set<"promisc_uc">(core.port.promisc_uc ? 1 : 0));
  static_cast<void>(context.try_set<"promisc_mc">(core.port.promisc_mc ? 1 : 0));
  static_cast<void>(context.try_set<"promisc_all">(core.port.promisc_all ? 1 : 0));
  static_cast<void>(context.try_set<"disable_uc_local_lb">(core.port.loops_unicast ? 0 : 1));
  static_cast<void>(context.try_set<"disable_mc_local_lb">(core.port.loops_multicast ? 0 : 1));
  get_list(core.port, prm::NvprtListType{static_cast<std::uint8_t>(list)}, context,
           request.out_tail);
  return {};
}

Verdict query_vport_state(
    Core& core, const Request<prm::query_vport_state_in, prm::query_vport_state_out>& request) {
  const std::uint32_t op_mod = request.in.get<"op_mod">();
  if (!is_own_vport(request.in)) return refuse(CommandStatus::BAD_PARAM_ERR, kOtherVport);
  if (op_mod != prm::number(prm::VportStateOpMod::VNIC_VPORT) &&
      op_mod != prm::number(prm::VportStateOpMod::UPLINK))
    return refuse(CommandStatus::BAD_PARAM_ERR, kNoSuchState);
  // MLX5_VPORT_ADMIN_STATE_DOWN and _UP.
  static_cast<void>(
      request.out.try_set<"admin_state">(core.port.admin_up && core.port.vport_up ? 1 : 0));
  static_cast<void>(request.out.try_set<"state">(core.port.link_up && core.port.vport_up ? 1 : 0));
  return {};
}

}  // namespace portcullis::model::commands
