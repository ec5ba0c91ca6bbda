// SPDX-License-Identifier: BSD-3-Clause
//
// Registers of an Ethernet port beside its state and MTU, flow control and loopback, and the
// counters of a port of either kind.
#include "model/core.hpp"
#include "model/performance_agent.hpp"
#include "model/register_access.hpp"
#include "prm/ethernet_registers.hpp"

namespace portcullis::model::registers {
namespace {

template <prm::Name High, prm::Name Low, class L>
void put(const prm::View<L>& group, std::uint64_t value) {
  group.template put<High>(static_cast<std::uint32_t>(value >> 32));
  group.template put<Low>(static_cast<std::uint32_t>(value));
}

/// A counter of two dwords, NAME_high and NAME_low.
#define PORTCULLIS_PUT(name, value) put<name "_high", name "_low">(group, value)

std::uint64_t packets(const std::array<TrafficCount, kCasts>& counts, Cast cast) {
  return PortCounters::of(counts, cast).packets;
}

std::uint64_t with_fcs(const TrafficCount& count) {
  return count.octets + PortCounters::kFcsBytes * count.packets;
}

void ieee_802_3(const PortCounters::Counts& c, std::span<std::byte> out) {
  const auto group = prm::View<prm::eth_802_3_cntrs_grp_data_layout>::at(out);
  const TrafficCount received = PortCounters::sum(c.received), sent = PortCounters::sum(c.sent);
  PORTCULLIS_PUT("a_frames_transmitted_ok", sent.packets);
  PORTCULLIS_PUT("a_frames_received_ok", received.packets);
  PORTCULLIS_PUT("a_octets_transmitted_ok", sent.octets);
  PORTCULLIS_PUT("a_octets_received_ok", received.octets);
  PORTCULLIS_PUT("a_multicast_frames_xmitted_ok", packets(c.sent, Cast::Multicast));
  PORTCULLIS_PUT("a_broadcast_frames_xmitted_ok", packets(c.sent, Cast::Broadcast));
  PORTCULLIS_PUT("a_multicast_frames_received_ok", packets(c.received, Cast::Multicast));
  PORTCULLIS_PUT("a_broadcast_frames_received_ok", packets(c.received, Cast::Broadcast));
  PORTCULLIS_PUT("a_frame_too_long_errors", c.too_long);
  PORTCULLIS_PUT("a_mac_control_frames_transmitted", c.controls_sent);
  PORTCULLIS_PUT("a_mac_control_frames_received", c.controls_received);
  PORTCULLIS_PUT("a_unsupported_opcodes_received", c.controls_unknown);
  PORTCULLIS_PUT("a_pause_mac_ctrl_frames_received", c.pauses_received);
  PORTCULLIS_PUT("a_pause_mac_ctrl_frames_transmitted", c.pauses_sent);
}

void rfc_2863(const PortCounters::Counts& c, std::span<std::byte> out) {
  const auto group = prm::View<prm::eth_2863_cntrs_grp_data_layout>::at(out);
  // RFC 2863: "including framing characters"; of what is received get_port_stats_finish of Snabb's
  // connectx.lua says that a card does so. That it does of what is sent is a hypothesis.
  PORTCULLIS_PUT("if_in_octets", with_fcs(PortCounters::sum(c.received)));
  PORTCULLIS_PUT("if_in_ucast_pkts", packets(c.received, Cast::Unicast));
  PORTCULLIS_PUT("if_in_multicast_pkts", packets(c.received, Cast::Multicast));
  PORTCULLIS_PUT("if_in_broadcast_pkts", packets(c.received, Cast::Broadcast));
  PORTCULLIS_PUT("if_in_discards", c.receive_discards);
  // RFC 2863: what errors kept from being deliverable.
  PORTCULLIS_PUT("if_in_errors", c.too_long + c.too_short + c.malformed + c.wrong_icrc);
  PORTCULLIS_PUT("if_out_octets", with_fcs(PortCounters::sum(c.sent)));
  PORTCULLIS_PUT("if_out_ucast_pkts", packets(c.sent, Cast::Unicast));
  PORTCULLIS_PUT("if_out_multicast_pkts", packets(c.sent, Cast::Multicast));
  PORTCULLIS_PUT("if_out_broadcast_pkts", packets(c.sent, Cast::Broadcast));
  PORTCULLIS_PUT("if_out_discards", c.send_discards);
}

void rfc_2819(const PortCounters::Counts& c, std::span<std::byte> out) {
  const auto group = prm::View<prm::eth_2819_cntrs_grp_data_layout>::at(out);
  const TrafficCount received = PortCounters::sum(c.received);
  // RFC 2819, etherStatsOctets: "excluding framing bits but including FCS octets". That a card's
  // group of that name keeps to it is a hypothesis.
  PORTCULLIS_PUT("ether_stats_octets", with_fcs(received));
  PORTCULLIS_PUT("ether_stats_pkts", received.packets);
  PORTCULLIS_PUT("ether_stats_broadcast_pkts", packets(c.received, Cast::Broadcast));
  PORTCULLIS_PUT("ether_stats_multicast_pkts", packets(c.received, Cast::Multicast));
  PORTCULLIS_PUT("ether_stats_undersize_pkts", c.too_short);
  PORTCULLIS_PUT("ether_stats_oversize_pkts", c.too_long);
  PORTCULLIS_PUT("ether_stats_pkts64octets", c.received_by_length[0]);
  PORTCULLIS_PUT("ether_stats_pkts65to127octets", c.received_by_length[1]);
  PORTCULLIS_PUT("ether_stats_pkts128to255octets", c.received_by_length[2]);
  PORTCULLIS_PUT("ether_stats_pkts256to511octets", c.received_by_length[3]);
  PORTCULLIS_PUT("ether_stats_pkts512to1023octets", c.received_by_length[4]);
  PORTCULLIS_PUT("ether_stats_pkts1024to1518octets", c.received_by_length[5]);
  PORTCULLIS_PUT("ether_stats_pkts1519to2047octets", c.received_by_length[6]);
  PORTCULLIS_PUT("ether_stats_pkts2048to4095octets", c.received_by_length[7]);
  PORTCULLIS_PUT("ether_stats_pkts4096to8191octets", c.received_by_length[8]);
  PORTCULLIS_PUT("ether_stats_pkts8192to10239octets", c.received_by_length[9]);
}

void rfc_3635(const PortCounters::Counts& c, std::span<std::byte> out) {
  const auto group = prm::View<prm::eth_3635_cntrs_grp_data_layout>::at(out);
  PORTCULLIS_PUT("dot3stats_frame_too_longs", c.too_long);
  PORTCULLIS_PUT("dot3control_in_unknown_opcodes", c.controls_unknown);
  PORTCULLIS_PUT("dot3in_pause_frames", c.pauses_received);
  PORTCULLIS_PUT("dot3out_pause_frames", c.pauses_sent);
}

void extended(const PortCounters::Counts& c, std::span<std::byte> out) {
  const auto group = prm::View<prm::eth_extended_cntrs_grp_data_layout>::at(out);
  PORTCULLIS_PUT("rx_icrc_encapsulated", c.wrong_icrc);
}

/// Durations are in microseconds (counters.rst of Linux, rx_prio[i]_pause_duration), of pauses
/// that are over.
void per_priority(const PortCounters::Counts& c, std::uint32_t priority, std::span<std::byte> out) {
  const auto group = prm::View<prm::eth_per_prio_grp_data_layout>::at(out);
  const PortCounters::PriorityCount& of = c.priorities[priority];
  const PauseCount& stopped = c.stopped[priority];
  PORTCULLIS_PUT("rx_octets", of.received.octets);
  PORTCULLIS_PUT("rx_frames", of.received.packets);
  PORTCULLIS_PUT("tx_octets", of.sent.octets);
  PORTCULLIS_PUT("tx_frames", of.sent.packets);
  PORTCULLIS_PUT("rx_pause", of.pauses_received);
  PORTCULLIS_PUT("rx_pause_duration", stopped.paused_ns / kNsPerUs);
  PORTCULLIS_PUT("rx_pause_transition", stopped.resumed);
  PORTCULLIS_PUT("tx_pause", of.pauses_sent);
  PORTCULLIS_PUT("tx_pause_duration", of.stopped_ns / kNsPerUs);
  PORTCULLIS_PUT("rx_discards", of.discards);
}

#undef PORTCULLIS_PUT

/// The bits of `mask` as `wanted` has them.
std::uint8_t replaced(std::uint8_t now, std::uint64_t wanted, std::uint64_t mask) {
  return static_cast<std::uint8_t>((now & ~mask) | (wanted & mask));
}

}  // namespace

Verdict pfcc(Core& core, const RegisterAccess& access) {
  if (core.port.type != PortType::Ethernet) return bad_param(kNoSuchRegister);
  if (const Verdict bad = check_port<prm::pfcc_reg>(access); !bad.ok()) return bad;
  const auto in = prm::ConstView<prm::pfcc_reg>::at(access.in);
  if (access.write) {
    // A priority's bit is written where its mask is set (mlx5_set_port_pfc of mlx5/core/port.c sets
    // all), a bit for PAUSE where its mask_n is not (mlx5_set_port_pause sets neither).
    if (in.get<"pptx_mask_n">() == 0) core.port.pause_tx = in.get<"pptx">() != 0;
    if (in.get<"pprx_mask_n">() == 0) core.port.pause_rx = in.get<"pprx">() != 0;
    core.port.pfc_tx = replaced(core.port.pfc_tx, in.get<"pfctx">(), in.get<"prio_mask_tx">());
    core.port.pfc_rx = replaced(core.port.pfc_rx, in.get<"pfcrx">(), in.get<"prio_mask_rx">());
  }
  const auto out = prm::View<prm::pfcc_reg>::at(access.out);
  static_cast<void>(out.try_set<"pptx">(core.port.pause_tx ? 1 : 0));
  static_cast<void>(out.try_set<"pprx">(core.port.pause_rx ? 1 : 0));
  static_cast<void>(out.try_set<"pfctx">(core.port.pfc_tx));
  static_cast<void>(out.try_set<"pfcrx">(core.port.pfc_rx));
  return {};
}

/// No kind of loopback is offered: lb_cap is 0.
Verdict pplr(Core& core, const RegisterAccess& access) {
  if (core.port.type != PortType::Ethernet) return bad_param(kNoSuchRegister);
  if (const Verdict bad = check_port<prm::pplr_reg>(access); !bad.ok()) return bad;
  if (access.write && prm::ConstView<prm::pplr_reg>::at(access.in).get<"lb_en">() != 0)
    return bad_param(kNotOffered);
  return {};
}

/// A group that is known and of which nothing is counted, reads as zero: those of Ethernet on an
/// InfiniBand port, and much of InfiniBand's on either.
Verdict ppcnt(Core& core, const RegisterAccess& access) {
  if (const Verdict bad = check_port<prm::ppcnt_reg>(access); !bad.ok()) return bad;
  const auto in = prm::ConstView<prm::ppcnt_reg>::at(access.in);
  if (access.write && in.get<"clr">() == 0) return bad_param(kReadOnly);
  const prm::PpcntGroup which{static_cast<std::uint8_t>(in.get<"grp">())};
  const auto out = prm::View<prm::ppcnt_reg>::at(access.out);
  const auto set = out.bytes<"counter_set">();
  static_cast<void>(out.try_set<"grp">(prm::number(which)));
  const std::uint32_t priority = in.get<"prio_tc">();
  static_cast<void>(out.try_set<"prio_tc">(priority));
  switch (which) {
    case prm::PpcntGroup::IEEE_802_3:
      ieee_802_3(core.port_counters.port, set);
      break;
    case prm::PpcntGroup::RFC_2863:
      rfc_2863(core.port_counters.port, set);
      break;
    case prm::PpcntGroup::RFC_2819:
      rfc_2819(core.port_counters.port, set);
      break;
    case prm::PpcntGroup::RFC_3635:
      rfc_3635(core.port_counters.port, set);
      break;
    case prm::PpcntGroup::EXTENDED:
      extended(core.port_counters.port, set);
      break;
    case prm::PpcntGroup::PER_PRIORITY:
      per_priority(core.port_counters.port, priority, set);
      break;
    case prm::PpcntGroup::PHYSICAL_LAYER:
      prm::View<prm::phys_layer_cntrs>::at(set).put<"link_down_events">(core.port.link_downs);
      break;
    case prm::PpcntGroup::INFINIBAND:
      fill_errors(performance_of(core.port_counters, core.port.link_downs), set);
      break;
    default:
      return bad_param(kNoSuchGroup);
  }
  if (in.get<"clr">() != 0) {
    core.port_counters.port = {};
    core.port.link_downs = 0;
  }
  return {};
}

}  // namespace portcullis::model::registers
