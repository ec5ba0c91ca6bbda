// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/packet/engine.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace portcullis::pfc::packet {

Engine::Engine(const Topology& topology, Network network, const RunOptions& options)
    : network_(std::move(network)),
      options_(options),
      classes_(static_cast<std::uint32_t>(network_.priorities.size())),
      packet_bytes_(options.packet_bytes),
      ports_(network_.links.size()),
      queues_(network_.links.size() * classes_),
      ingresses_(network_.links.size() * classes_),
      pauses_(queues_.size()),
      is_in_turn_(options.schedule.kind == Schedule::Kind::Turns),
      first_message_(static_cast<std::uint32_t>(topology.flows.size())),
      has_ecn_(options.ecn.is_on),
      shared_(network_.nodes.size()),
      in_(network_.nodes.size()) {
  for (Slot slot = 0; slot < queues_.size(); ++slot) {
    queues_[slot].link = slot / classes_;
    queues_[slot].bit = static_cast<std::uint8_t>(1U << (slot % classes_));
  }
  report_.flows.resize(network_.flows.size());
  if (options.with_residence)
    for (std::size_t flow = 0; flow < topology.flows.size(); ++flow)
      report_.flows[flow].residence.emplace();
  for (LinkId link = 0; link < network_.links.size(); ++link) {
    const LinkPlan& plan = network_.links[link];
    ports_[link].packet_lane = events_.lane(plan.packet_ps);
    ports_[link].delay_lane = events_.lane(plan.delay_ps);
    if (network_.nodes[plan.to].alpha > 0) in_[plan.to].push_back(link);
  }
  for (LinkId link = 0; link < network_.links.size(); ++link)
    ports_[link].frame_lane = events_.lane(network_.links[link].frame_ps);
  for (std::uint32_t flow = 0; flow < first_message_; ++flow) {
    const FlowPlan& plan = network_.flows[flow];
    offers_.emplace_back(topology.flows[flow].source, network_, plan.bytes, plan.spacing_ps);
    if (plan.first == plan.last) continue;  // of a flow that no route serves
    Port& port = ports_[network_.hops[plan.first]];
    port.flows.push_back(flow);
    port.is_source = true;
    port.sourced = static_cast<std::uint8_t>(port.sourced | 1U << plan.priority);
  }
  set_messages();
  give_shares();
  set_rates();
  set_watchdog();
}

void Engine::begin() {
  for (LinkId link = 0; link < ports_.size(); ++link)
    if (ports_[link].is_source) start(link);
  for (std::uint32_t storm = 0; storm < options_.storms.size(); ++storm) {
    events_.at(options_.storms[storm].from, EventKind::Stormed, storm, 0);
    events_.at(options_.storms[storm].to, EventKind::Stormed, storm, 1);
  }
  if (options_.watchdog.poll > 0) events_.at(options_.watchdog.poll, EventKind::Polled, 0, 0);
  if (options_.sample_every > 0) events_.at(0, EventKind::Sampled, 0, 0);
  events_.at(inspection_ps(), EventKind::Inspected, 0, 0);
}

RunReport Engine::run() {
  constexpr std::uint64_t kBetweenQuestions = std::uint64_t{1} << 20;
  // Before the first event too: a run of fewer than that many would never ask.
  const auto is_to_stop = [this] {
    report_.is_stopped = options_.progress && !options_.progress(events_.now());
    return report_.is_stopped;
  };
  begin();
  if (is_to_stop()) return report();
  while (const Event* event = events_.next(options_.until)) {
    ++report_.events;
    if (event->kind == EventKind::Inspected) {
      if (on_inspected()) break;
      continue;
    }
    handle(*event);
    if (report_.events % kBetweenQuestions == 0 && is_to_stop()) break;
  }
  return report();
}

void Engine::handle(const Event& event) {
  switch (event.kind) {
    case EventKind::Sent:
      return on_sent(event.target, event.item);
    case EventKind::Arrived:
      return on_arrived(event.target, event.item);
    case EventKind::Paused:
      return on_paused(event.target, event.item != 0);
    case EventKind::Resumed:
      return on_resumed(event.target, event.item != 0);
    case EventKind::Refreshing:
      return on_refreshing(event.target);
    case EventKind::RanOut:
      return on_ran_out(event.target);
    case EventKind::FrameSent:
      return on_frame_sent(event.target);
    case EventKind::Notified:
      return on_notified(event.target);
    case EventKind::Offered:
      ports_[event.target].offered_at = 0;
      if (!ports_[event.target].is_busy) start(event.target);
      return;
    case EventKind::Suspected:
      return on_suspected(event.target, event.item);
    case EventKind::Restored:
      return on_restored(event.target, event.item);
    case EventKind::Polled:
      return on_polled();
    case EventKind::Stormed:
      return on_stormed(event.target, event.item != 0);
    case EventKind::Sampled:
      return on_sampled();
    case EventKind::Inspected:
      return;
  }
}

void Engine::on_sent(LinkId link, PacketId id) {
  Port& port = ports_[link];
  Packet& packet = packets_[id];
  ++report_.hops;
  port.is_busy = false;
  queues_[network_.hop_slots[packet.hop]].stopped = events_.now();
  const Slot counted_in = std::exchange(packet.counted_in, kNothing);
  if (counted_in != kNothing) count_out(counted_in, packet.bytes);
  events_.after(port.delay_lane, network_.links[link].delay_ps, EventKind::Arrived, link, id);
  if (!port.is_busy) start(link);
}

void Engine::on_arrived(LinkId link, PacketId id) {
  Packet& packet = packets_[id];
  const FlowPlan& flow = network_.flows[packet.flow];
  const Slot came_by = network_.hop_slots[packet.hop];
  if (++packet.hop == flow.last) {
    if (flow.again == kNothing) return deliver(id);
    packet.hop = flow.again;
  }
  if (packet.ttl != 0 && --packet.ttl == 0) {
    ++report_.flows[packet.flow].expired;
    return release(id);
  }
  count_in(came_by, link, id);
}

void Engine::deliver(PacketId id) {
  const Packet& packet = packets_[id];
  FlowReport& seen = report_.flows[packet.flow];
  const Picoseconds residence = events_.now() - packet.born;
  ++seen.delivered;
  seen.delivered_bytes += packet.bytes;
  seen.greatest_residence = std::max(seen.greatest_residence, residence);
  if (packet.is_marked) on_marked(packet.flow);
  if (packet.flow >= first_message_) on_message(packet.flow, packet.bytes);
  if (seen.residence) seen.residence->record(static_cast<std::uint64_t>(residence / 1000));
  if (packet.is_guest) [[unlikely]]
    end_guest(id, true);
  release(id);
}

/// Finds room in the ingress, closes its gate if need be, and queues the packet for its next link.
void Engine::count_in(Slot slot, LinkId link, PacketId id) {
  Ingress& ingress = ingresses_[slot];
  Packet& packet = packets_[id];
  const LinkPlan& plan = network_.links[link];
  const NodeId node = plan.to;
  const Bytes bytes = packet.bytes;
  const Queue& next = queues_[network_.hop_slots[packet.hop]];
  if (next.is_storming && watched_[next.link].action == WatchdogAction::Drop) {
    ++report_.flows[packet.flow].discarded;
    return release(id);
  }
  if (ingress.bytes + bytes > plan.limit || shared_[node] + bytes > network_.nodes[node].shared) {
    ++report_.flows[packet.flow].overflowed;
    return release(id);
  }
  ingress.bytes += bytes;
  shared_[node] += bytes;
  ingress.most_bytes = std::max(ingress.most_bytes, ingress.bytes);
  packet.counted_in = slot;
  if (!ingress.is_closed && ingress.bytes >= closes_at(link)) close(slot);
  enqueue(id);
}

void Engine::count_out(Slot slot, Bytes bytes) {
  Ingress& ingress = ingresses_[slot];
  const NodeId node = network_.links[link_of(slot)].to;
  ingress.bytes -= bytes;
  shared_[node] -= bytes;
  if (network_.nodes[node].alpha > 0) return reopen_others(node);
  if (ingress.is_closed && opens(slot)) open(slot);
}

void Engine::enqueue(PacketId id) {
  Packet& packet = packets_[id];
  Queue& queue = queues_[network_.hop_slots[packet.hop]];
  const LinkId link = queue.link;
  Port& port = ports_[link];
  packet.next = kNothing;
  if (has_ecn_) mark(network_.hop_slots[packet.hop], packet);
  if (packet.is_guest) [[unlikely]]
    note_queued(id);
  if (queue.head == kNothing) {
    queue.head = id;
    port.waiting = static_cast<std::uint8_t>(port.waiting | queue.bit);
  } else {
    packets_[queue.tail].next = id;
  }
  queue.tail = id;
  if (!port.is_busy) start(link);
}

/// Sends the next packet, priorities and sources in turn; PAUSE frames go first.
void Engine::start(LinkId link) {
  Port& port = ports_[link];
  if (!port.frames.empty()) return start_frame(link);
  for (std::uint8_t left = ready(port); left != 0;) {
    const auto later = static_cast<std::uint8_t>(left & (0xffU << port.turn));
    const auto priority =
        is_in_turn_ ? static_cast<std::uint8_t>(std::countr_zero(later != 0 ? later : left))
                    : scheduled(port, left);
    const PacketId id = take(link, priority);
    if (id == kNothing) {
      left = static_cast<std::uint8_t>(left & ~(1U << priority));
      continue;
    }
    const std::uint32_t bytes = packets_[id].bytes;
    port.turn = static_cast<std::uint8_t>((priority + 1) % kPriorities);
    if (!is_in_turn_) charge(port, priority, bytes);
    port.is_busy = true;
    const LinkPlan& plan = network_.links[link];
    if (bytes == packet_bytes_)
      return events_.after(port.packet_lane, plan.packet_ps, EventKind::Sent, link, id);
    return events_.at(events_.now() + std::llround(plan.ps_per_byte * bytes), EventKind::Sent, link,
                      id);
  }
}

void Engine::start_frame(LinkId link) {
  Port& port = ports_[link];
  port.is_busy = true;
  events_.after(port.frame_lane, network_.links[link].frame_ps, EventKind::FrameSent, link, 0);
}

/// The head of the queue, or else a packet of a source that has one now.
PacketId Engine::take(LinkId link, std::uint32_t priority) {
  Port& port = ports_[link];
  const auto bit = static_cast<std::uint8_t>(1U << priority);
  if ((port.waiting & bit) != 0) {
    const Slot slot = network_.slot(link, priority);
    Queue& queue = queues_[slot];
    const PacketId id = queue.head;
    if (has_ecn_) queued_[slot] -= packets_[id].bytes;
    queue.head = packets_[id].next;
    if (queue.head == kNothing) port.waiting = static_cast<std::uint8_t>(port.waiting & ~bit);
    if (packets_[id].is_guest) [[unlikely]]
      note_taken(id);
    return id;
  }
  Picoseconds soonest = 0;
  std::optional<PacketId> id;
  if (sends_at_.empty()) {
    id = take_of_flows(link, priority, soonest);
  } else {
    id = port.has_sent_flows ? take_of_messages(link, priority, soonest)
                             : take_of_flows(link, priority, soonest);
    if (!id)
      id = port.has_sent_flows ? take_of_flows(link, priority, soonest)
                               : take_of_messages(link, priority, soonest);
  }
  if (id) return *id;
  if (soonest == 0) {
    port.sourced = static_cast<std::uint8_t>(port.sourced & ~bit);
  } else if (port.offered_at == 0 || soonest < port.offered_at) {
    port.offered_at = soonest;
    events_.at(soonest, EventKind::Offered, link, 0);
  }
  return kNothing;
}

/// A packet of a flow that has one now; else moves `soonest`, 0 for never, to when one has.
std::optional<PacketId> Engine::take_of_flows(LinkId link, std::uint32_t priority,
                                              Picoseconds& soonest) {
  Port& port = ports_[link];
  for (std::uint32_t i = 0; i < port.flows.size(); ++i) {
    const auto turn = static_cast<std::uint32_t>((port.flow_turn + i) % port.flows.size());
    const std::uint32_t flow = port.flows[turn];
    const FlowPlan& plan = network_.flows[flow];
    if (plan.priority != priority) continue;
    const auto at = offers_[flow].next(events_.now());
    if (!at) continue;
    if (*at <= events_.now()) {
      port.flow_turn = turn + 1;
      port.has_sent_flows = true;
      offers_[flow].take(events_.now(),
                         rates_.empty() ? 0 : rates_[flow].spacing(events_.now(), plan.bytes));
      return make_packet(flow, plan.bytes);
    }
    soonest = soonest == 0 ? *at : std::min(soonest, *at);
  }
  return std::nullopt;
}

PacketId Engine::make_packet(std::uint32_t flow, std::uint32_t bytes) {
  PacketId id = free_;
  if (id == kNothing) {
    id = static_cast<PacketId>(packets_.size());
    packets_.emplace_back();
  } else {
    free_ = packets_[id].next;
  }
  const FlowPlan& plan = network_.flows[flow];
  packets_[id] = {.flow = flow,
                  .hop = plan.first,
                  .bytes = bytes,
                  .ttl = static_cast<std::uint16_t>(plan.ttl),
                  .born = events_.now()};
  ++report_.flows[flow].sent;
  return id;
}

void Engine::release(PacketId id) {
  if (packets_[id].is_guest) [[unlikely]]
    end_guest(id, false);
  packets_[id].next = free_;
  free_ = id;
}

}  // namespace portcullis::pfc::packet
