// SPDX-License-Identifier: BSD-3-Clause
//
// What both halves of a queue pair work with: the function's tables, its port on the wire, and the
// way a packet leaves.
#pragma once

#include <cstdint>

#include "model/behaviours.hpp"
#include "model/transport/doorbells.hpp"
#include "model/transport/error_receives.hpp"
#include "model/transport/headers.hpp"
#include "model/transport/pace.hpp"
#include "model/transport/qp.hpp"
#include "model/transport/way_out.hpp"
#include "model/transport/wire.hpp"
#include "model/transport_port.hpp"

namespace portcullis::model {

struct Engine {
  TransportDeps deps;
  QpTable* qps = nullptr;
  Doorbells* doorbells = nullptr;
  ErrorReceives* error_receives = nullptr;
  Wire* wire = nullptr;
  Pacer* pacer = nullptr;
  WayOut* way_out = nullptr;
  Wire::PortId port = 0;

  /// Sends the packet whose payload already stands at its offset in wire->next_buffer().
  void transmit(const Qp& qp, const PacketHeader& header, std::size_t payload_bytes) const {
    const std::size_t length = qp.frame.finish(wire->next_buffer(), header, payload_bytes);
    if (deps.flows->holds_packets() && !deps.flows->leave(wire->next_buffer().first(length)))
      return;
    deps.port_counters->count_packet_sent(qp.path.dest_qpn == prm::kMulticastQpn,
                                          counted_octets(length));
    const Way way = way_of(qp);
    if (!way_out->is_free(priority_of(qp)) && leaves(qp, way))
      return way_out->send_later(length, way, priority_of(qp));
    way_out->send(length, way);
  }
  /// Of a packet of `length` bytes. PortXmitData of InfiniBand has what is between the start of the
  /// packet and its VCRC, as descriptions of the counter quote IBTA; no card was asked.
  [[nodiscard]] std::size_t counted_octets(std::size_t length) const noexcept {
    return wire->port_type() == PortType::InfiniBand ? length - kVcrcBytes : length;
  }
  /// The other end of the link has stopped what `qp` would send.
  [[nodiscard]] bool is_paused(const Qp& qp) const noexcept {
    return way_out->is_shut(priority_of(qp)) && leaves(qp, way_of(qp));
  }
  /// Where a packet of `qp` goes, as behaviour loopback has it.
  [[nodiscard]] Way way_of(const Qp& qp) const noexcept {
    const auto side = deps.behaviours->loopback;
    if (qp.path.dest_lid == prm::kPermissiveLid) return Way::Away;
    if (!qp.force_loopback) return side == Loopback::ForcedOnly ? Way::Away : Way::Anywhere;
    const bool is_lost = side == Loopback::NeedsLink && !deps.port->carries_data();
    return is_lost ? Way::Nowhere : Way::Back;
  }
  /// What the packets of `qp` go as, with a tag or without.
  [[nodiscard]] std::uint8_t priority_of(const Qp& qp) const noexcept {
    constexpr unsigned kEcnBits = 2;
    return deps.port->trust == PortSettings::kTrustDscp
               ? deps.port->dscp_priority[qp.path.traffic_class >> kEcnBits]
               : qp.path.priority;
  }
  /// Not what the port sends to itself.
  [[nodiscard]] bool leaves(const Qp& qp, Way way) const noexcept {
    return way != Way::Back && qp.path.dest_mac != deps.port->mac;
  }
  /// An event affiliated with `qp`.
  void raise(prm::EventType type, const Qp& qp) const {
    static_cast<void>(deps.eqs->raise_qp(type, qp.qpn));
  }
};

}  // namespace portcullis::model
