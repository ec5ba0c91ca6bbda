// SPDX-License-Identifier: BSD-3-Clause
//
// Messages: they are flows behind those of the topology that have a number of bytes.
#include <algorithm>
#include <cmath>

#include "pfc/packet/engine.hpp"

namespace portcullis::pfc::packet {

void Engine::set_messages() {
  const std::vector<Message>& messages = options_.messages;
  if (messages.empty()) return;
  sends_at_.assign(queues_.size(), kNothing);
  report_.messages.resize(messages.size());
  for (std::uint32_t i = 0; i < messages.size(); ++i) {
    const FlowPlan& plan = network_.flows[first_message_ + i];
    const Slot slot = network_.hop_slots[plan.first];
    if (sends_at_[slot] == kNothing) {
      sends_at_[slot] = static_cast<std::uint32_t>(sends_.size());
      sends_.emplace_back();
      Port& port = ports_[link_of(slot)];
      port.is_source = true;
      port.sourced = static_cast<std::uint8_t>(port.sourced | bit_of(slot));
    }
    sends_[sends_at_[slot]].add(messages[i].start, first_message_ + i);
    unsent_.push_back(messages[i].bytes);
    report_.messages[i].at_least = least_time(i);
  }
}

/// Packets go on as they come: the slowest link sends them all, the others before it the first one
/// and those behind it the last one. The greatest of that over all links.
Picoseconds Engine::least_time(std::uint32_t message) const {
  const FlowPlan& plan = network_.flows[first_message_ + message];
  const std::uint64_t bytes = options_.messages[message].bytes;
  const std::uint64_t packets = (bytes + plan.bytes - 1) / plan.bytes;
  const std::uint64_t last = bytes - (packets - 1) * plan.bytes;
  const std::uint64_t first = packets > 1 ? plan.bytes : last;
  const auto time = [](const LinkPlan& link, std::uint64_t of) {
    return std::llround(link.ps_per_byte * static_cast<double>(of));
  };
  Picoseconds delays = 0;
  Picoseconds behind = 0;  // the last one, over links that are still to come
  for (std::uint32_t hop = plan.first; hop < plan.last; ++hop) {
    delays += network_.links[network_.hops[hop]].delay_ps;
    behind += time(network_.links[network_.hops[hop]], last);
  }
  Picoseconds before = 0;
  Picoseconds most = 0;
  for (std::uint32_t hop = plan.first; hop < plan.last; ++hop) {
    const LinkPlan& link = network_.links[network_.hops[hop]];
    behind -= time(link, last);
    const Picoseconds all =
        static_cast<Picoseconds>(packets - 1) * time(link, plan.bytes) + time(link, last);
    most = std::max(most, before + all + behind);
    before += time(link, first);
  }
  return delays + most;
}

std::optional<PacketId> Engine::take_of_messages(LinkId link, std::uint32_t priority,
                                                 Picoseconds& soonest) {
  const std::uint32_t place = sends_at_[network_.slot(link, priority)];
  if (place == kNothing) return std::nullopt;
  SendQueue& sends = sends_[place];
  const auto at = sends.next(events_.now());
  if (!at) return std::nullopt;
  if (*at > events_.now()) {
    soonest = soonest == 0 ? *at : std::min(soonest, *at);
    return std::nullopt;
  }
  const std::uint32_t flow = sends.take();
  std::uint64_t& left = unsent_[flow - first_message_];
  const auto bytes =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(left, network_.flows[flow].bytes));
  left -= bytes;
  ports_[link].has_sent_flows = false;
  const Picoseconds spacing = rates_.empty() ? 0 : rates_[flow].spacing(events_.now(), bytes);
  if (left > 0 && spacing == 0) sends.put_back(flow);
  if (left > 0 && spacing > 0) sends.add(events_.now() + spacing, flow);
  return make_packet(flow, bytes);
}

void Engine::on_message(std::uint32_t flow, std::uint32_t bytes) {
  MessageReport& report = report_.messages[flow - first_message_];
  const Message& message = options_.messages[flow - first_message_];
  report.arrived += bytes;
  if (report.arrived == message.bytes) report.took = events_.now() - message.start;
}

/// All that was counted of single messages, together.
void Engine::report_messages() {
  FlowReport& all = report_.of_messages;
  for (std::size_t i = first_message_; i < report_.flows.size(); ++i) {
    const FlowReport& one = report_.flows[i];
    all.sent += one.sent;
    all.delivered += one.delivered;
    all.delivered_bytes += one.delivered_bytes;
    all.marked += one.marked;
    all.cnps += one.cnps;
    all.overflowed += one.overflowed;
    all.discarded += one.discarded;
    all.held += one.held;
    all.greatest_residence = std::max(all.greatest_residence, one.greatest_residence);
    all.oldest_held = std::max(all.oldest_held, one.oldest_held);
  }
  report_.flows.resize(first_message_);
}

}  // namespace portcullis::pfc::packet
