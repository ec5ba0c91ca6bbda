// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <utility>

#include "pfc/packet/engine.hpp"

namespace portcullis::pfc::packet {

/// Often enough to stop soon, rarely enough to cost nothing: when a deadlock came about is read
/// from the queues, not from when it was noticed.
Picoseconds Engine::inspection_ps() const {
  constexpr Picoseconds kPackets = 256;
  Picoseconds longest = 1;
  for (const LinkPlan& link : network_.links) longest = std::max(longest, link.packet_ps);
  return events_.now() + kPackets * longest;
}

BlockedGates Engine::blocked() const {
  std::vector<bool> is_blocked(queues_.size(), false);
  for (Slot slot = 0; slot < queues_.size(); ++slot) {
    // A pause that may run out before it is said again is none that lasts.
    const Port& port = ports_[link_of(slot)];
    is_blocked[slot] = (port.paused & bit_of(slot)) != 0 && ingresses_[slot].is_closed &&
                       queues_[slot].messages == 0 && network_.links[link_of(slot)].is_held;
  }
  return find_blocked(network_, std::move(is_blocked), queues_, packets_);
}

void Engine::begin_deadlock(const BlockedGates& gates) {
  Deadlock deadlock;
  deadlock.gates = gates.slots.size();
  deadlock.priority = network_.priorities[gates.cycle.front() % classes_];
  for (const Slot slot : gates.cycle) {
    deadlock.cycle.push_back(link_of(slot));
    deadlock.time = std::max(deadlock.time, queues_[slot].stopped);
  }
  locked_ = gates.cycle;
  report_.deadlock = std::move(deadlock);
}

/// A queue of its cycle that has moved since did so by the watchdog.
bool Engine::stands(const BlockedGates& gates) const {
  return std::ranges::all_of(locked_, [&](Slot slot) {
    return std::ranges::binary_search(gates.slots, slot) &&
           queues_[slot].stopped <= report_.deadlock->time;
  });
}

bool Engine::on_inspected() {
  if (!report_.deadlock || can_end_deadlocks_) {
    const BlockedGates gates = blocked();
    if (report_.deadlock && !stands(gates)) {
      if (!report_.ended_deadlock) report_.ended_deadlock = std::move(report_.deadlock);
      report_.deadlock.reset();
    }
    if (!report_.deadlock && !gates.cycle.empty()) begin_deadlock(gates);
  }
  events_.at(inspection_ps(), EventKind::Inspected, 0, 0);
  return report_.deadlock && options_.stop_at_deadlock;
}

void Engine::on_sampled() {
  Sample sample;
  sample.time = events_.now();
  for (std::size_t flow = 0; flow < first_message_; ++flow)
    sample.delivered_bytes.push_back(report_.flows[flow].delivered_bytes);
  for (const Ingress& ingress : ingresses_) {
    sample.ingress_bytes.push_back(ingress.bytes);
    sample.is_closed.push_back(ingress.is_closed);
  }
  report_.samples.push_back(std::move(sample));
  events_.at(events_.now() + options_.sample_every, EventKind::Sampled, 0, 0);
}

RunReport Engine::report() {
  static_cast<void>(on_inspected());
  const bool is_cut_short = report_.is_stopped || (report_.deadlock && options_.stop_at_deadlock);
  return report_at(is_cut_short ? events_.now() : options_.until);
}

RunReport Engine::report_at(Picoseconds now) {
  report_.end = now;
  std::vector<bool> is_free(packets_.size(), false);
  for (PacketId id = free_; id != kNothing; id = packets_[id].next) is_free[id] = true;
  for (PacketId id = 0; id < packets_.size(); ++id) {
    if (is_free[id]) continue;
    FlowReport& flow = report_.flows[packets_[id].flow];
    ++flow.held;
    flow.oldest_held = std::max(flow.oldest_held, now - packets_[id].born);
  }
  for (const LinkPlan& link : network_.links)
    if (!link.is_held && link.xoff != kBoundless) ++report_.loose_links;
  for (std::uint32_t flow = 0; flow < offers_.size(); ++flow) {
    static_cast<void>(offers_[flow].next(now));
    report_.flows[flow].source_lost = offers_[flow].lost();
    report_.flows[flow].waiting = offers_[flow].waiting(now);
    if (!rates_.empty()) report_.flows[flow].rate_bps = rates_[flow].rate_bps(now);
  }
  for (Slot slot = 0; slot < ingresses_.size(); ++slot) {
    const Ingress& ingress = ingresses_[slot];
    report_.ingresses.push_back({link_of(slot), network_.priorities[slot % classes_],
                                 ingress.closings,
                                 ingress.closed + (ingress.is_closed ? now - ingress.closed_at : 0),
                                 ingress.most_bytes, ingress.bytes});
  }
  report_messages();
  return std::move(report_);
}

}  // namespace portcullis::pfc::packet
