// SPDX-License-Identifier: BSD-3-Clause
//
// Commands on what an Ethernet port receives and counts: the switch's address table (mlx5_core's
// lib/mpfs.c), state and counters of the vport (vport.c).
#include "model/commands.hpp"
#include "model/core.hpp"

namespace portcullis::model::commands {
namespace {

using prm::CommandStatus;

enum Refusal : std::uint32_t {
  kNotEthernet = 0x6101,
  kNoSuchIndex,
  kNoSuchEntry,
  kOtherVport,
  kNoSuchState,
  kNotOffered,
  kBadMac,
};

constexpr std::size_t kBeforeMac = 2;  // in mac_address_layout

template <class In>
Verdict check_index(const Core& core, prm::ConstView<In> in) {
  if (core.port.type != PortType::Ethernet)
    return refuse(CommandStatus::BAD_PARAM_ERR, kNotEthernet);
  if (in.template get<"table_index">() >= 1U << Capabilities::kLogMaxL2Table)
    return refuse(CommandStatus::IX_ERR, kNoSuchIndex);
  return {};
}

void put_count(std::span<std::byte> out, const TrafficCount& count) {
  const auto entry = prm::View<prm::traffic_counter>::at(out);
  entry.put<"packets">(count.packets);
  entry.put<"octets">(count.octets);
}

}  // namespace

Verdict set_l2_table_entry(
    Core& core, const Request<prm::set_l2_table_entry_in, prm::set_l2_table_entry_out>& request) {
  if (const Verdict bad = check_index(core, request.in); !bad.ok()) return bad;
  if (request.in.get<"vlan_valid">() != 0) return refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);
  Mac mac;
  std::memcpy(mac.data(), request.in.bytes<"mac_address">().data() + kBeforeMac, mac.size());
  if ((mac[0] & 1) != 0) return refuse(CommandStatus::BAD_PARAM_ERR, kBadMac);
  core.port.l2_table[request.in.get<"table_index">()] = mac;
  core.transport->port_changed();
  return {};
}

Verdict query_l2_table_entry(
    Core& core,
    const Request<prm::query_l2_table_entry_in, prm::query_l2_table_entry_out>& request) {
  if (const Verdict bad = check_index(core, request.in); !bad.ok()) return bad;
  const auto found = core.port.l2_table.find(request.in.get<"table_index">());
  if (found == core.port.l2_table.end()) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchEntry);
  std::memcpy(request.out.bytes<"mac_address">().data() + kBeforeMac, found->second.data(),
              found->second.size());
  return {};
}

Verdict delete_l2_table_entry(
    Core& core,
    const Request<prm::delete_l2_table_entry_in, prm::delete_l2_table_entry_out>& request) {
  if (const Verdict bad = check_index(core, request.in); !bad.ok()) return bad;
  if (core.port.l2_table.erase(request.in.get<"table_index">()) == 0)
    return refuse(CommandStatus::BAD_RES_ERR, kNoSuchEntry);
  core.transport->port_changed();
  return {};
}

/// AUTO follows the port, as UP does here: there is one function.
Verdict modify_vport_state(
    Core& core, const Request<prm::modify_vport_state_in, prm::modify_vport_state_out>& request) {
  constexpr std::uint32_t kDown = 0, kAuto = 2;  // MLX5_VPORT_ADMIN_STATE_*
  if (request.in.get<"other_vport">() != 0 || request.in.get<"vport_number">() != 0)
    return refuse(CommandStatus::BAD_PARAM_ERR, kOtherVport);
  const std::uint32_t op_mod = request.in.get<"op_mod">();
  if ((op_mod != prm::number(prm::VportStateOpMod::VNIC_VPORT) &&
       op_mod != prm::number(prm::VportStateOpMod::UPLINK)) ||
      request.in.get<"admin_state">() > kAuto)
    return refuse(CommandStatus::BAD_PARAM_ERR, kNoSuchState);
  core.port.vport_up = request.in.get<"admin_state">() != kDown;
  core.transport->port_changed();
  return {};
}

Verdict query_vport_counter(
    Core& core, const Request<prm::query_vport_counter_in, prm::query_vport_counter_out>& request) {
  if (request.in.get<"other_vport">() != 0 || request.in.get<"vport_number">() != 0 ||
      request.in.get<"port_num">() > 1)
    return refuse(CommandStatus::BAD_PARAM_ERR, kOtherVport);
  PortCounters::Counts& counters = core.port_counters.vport;
  const auto received = [&counters](Cast cast) {
    return PortCounters::of(counters.received, cast);
  };
  const auto sent = [&counters](Cast cast) { return PortCounters::of(counters.sent, cast); };
  const auto& out = request.out;
  put_count(out.bytes<"received_errors">(), {counters.too_long, 0});
  put_count(out.bytes<"transmit_errors">(), {counters.send_discards, 0});
  put_count(out.bytes<"received_eth_unicast">(), received(Cast::Unicast));
  put_count(out.bytes<"received_eth_multicast">(), received(Cast::Multicast));
  put_count(out.bytes<"received_eth_broadcast">(), received(Cast::Broadcast));
  put_count(out.bytes<"transmitted_eth_unicast">(), sent(Cast::Unicast));
  put_count(out.bytes<"transmitted_eth_multicast">(), sent(Cast::Multicast));
  put_count(out.bytes<"transmitted_eth_broadcast">(), sent(Cast::Broadcast));
  PortCounters::PacketCounts& packets = core.port_counters.packets;
  put_count(out.bytes<"received_ib_unicast">(), packets.received);
  put_count(out.bytes<"transmitted_ib_unicast">(), packets.sent);
  put_count(out.bytes<"received_ib_multicast">(), packets.received_by_group);
  put_count(out.bytes<"transmitted_ib_multicast">(), packets.sent_to_group);
  if (request.in.get<"clear">() != 0) {
    counters = {};
    packets = {};
  }
  return {};
}

}  // namespace portcullis::model::commands
