// SPDX-License-Identifier: BSD-3-Clause
//
// ECN marks in switches' queues, receivers that tell of them, and the rates that DCQCN leaves.
#include <cmath>

#include "pfc/packet/engine.hpp"

namespace portcullis::pfc::packet {

void Engine::set_rates() {
  if (!has_ecn_) return;
  queued_.assign(queues_.size(), 0);
  random_.seed(options_.ecn.seed);
  if (!options_.dcqcn.is_on) return;
  cnp_from_.assign(network_.flows.size(), 0);
  for (const FlowPlan& flow : network_.flows) rates_.emplace_back(options_.dcqcn, flow.line_bps);
}

void Engine::mark(Slot slot, Packet& packet) {
  const Ecn& ecn = options_.ecn;
  const Bytes before = queued_[slot];
  queued_[slot] += packet.bytes;
  if (before <= ecn.least_bytes || packet.is_marked) return;
  if (before <= ecn.most_bytes) {
    const double part = static_cast<double>(before - ecn.least_bytes) /
                        static_cast<double>(ecn.most_bytes - ecn.least_bytes);
    // 53 bits as a fraction: the same on every standard library, unlike its distributions.
    const double drawn = std::ldexp(static_cast<double>(random_() >> 11), -53);
    if (drawn >= part * ecn.most_marked) return;
  }
  packet.is_marked = true;
}

/// At the receiver. A CNP takes what an empty path back takes: it goes before all data.
void Engine::on_marked(std::uint32_t flow) {
  ++report_.flows[flow].marked;
  if (rates_.empty() || events_.now() < cnp_from_[flow]) return;
  cnp_from_[flow] = events_.now() + options_.dcqcn.cnp_every;
  events_.at(events_.now() + network_.flows[flow].cnp_ps, EventKind::Notified, flow, 0);
}

void Engine::on_notified(std::uint32_t flow) {
  ++report_.flows[flow].cnps;
  rates_[flow].notify(events_.now());
}

}  // namespace portcullis::pfc::packet
