// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <utility>

#include "pfc/packet/engine.hpp"

namespace portcullis::pfc::packet {
namespace {

/// alpha times what is free, as bytes.
Bytes dynamic_threshold(const NodePlan& node, Bytes used) {
  return static_cast<Bytes>(node.alpha *
                            static_cast<double>(std::max(node.shared - used, Bytes{0})));
}

}  // namespace

Bytes Engine::closes_at(LinkId link) const {
  const LinkPlan& plan = network_.links[link];
  const NodePlan& node = network_.nodes[plan.to];
  if (plan.xoff == kBoundless) return kBoundless;  // a lossy class: memory that is short drops
  return node.alpha > 0 ? std::min(plan.xoff, dynamic_threshold(node, shared_[plan.to]))
                        : plan.xoff;
}

bool Engine::opens(Slot slot) const {
  const LinkPlan& plan = network_.links[link_of(slot)];
  const NodePlan& node = network_.nodes[plan.to];
  const Bytes below =
      node.alpha > 0 ? std::min(plan.xon, dynamic_threshold(node, shared_[plan.to])) : plan.xon;
  // An ingress that is empty opens whatever the others leave it.
  return ingresses_[slot].bytes < below || ingresses_[slot].bytes == 0;
}

void Engine::close(Slot slot) {
  Ingress& ingress = ingresses_[slot];
  ingress.is_closed = true;
  ingress.closed_at = events_.now();
  ++ingress.closings;
  send_message(slot);
}

void Engine::open(Slot slot) {
  Ingress& ingress = ingresses_[slot];
  ingress.is_closed = false;
  ingress.closed += events_.now() - ingress.closed_at;
  send_message(slot);
}

/// Where a buffer is shared, what one ingress gives back raises the threshold of all.
void Engine::reopen_others(NodeId node) {
  for (const LinkId link : in_[node])
    for (std::uint32_t priority = 0; priority < classes_; ++priority) {
      const Slot slot = network_.slot(link, priority);
      if (ingresses_[slot].is_closed && opens(slot)) open(slot);
    }
}

/// Tells the sender what the gate is now: over the link back, or at once.
void Engine::send_message(Slot slot) {
  const LinkId back = network_.links[link_of(slot)].back;
  ++queues_[slot].messages;
  if (!options_.pause_in_band || back == kNothing)
    return dispatch(slot, ingresses_[slot].is_closed);
  ports_[back].frames.push_back(slot);
  if (!ports_[back].is_busy) start(back);
}

void Engine::dispatch(Slot slot, bool is_closed) {
  const LinkId link = link_of(slot);
  const EventKind kind = is_closed ? EventKind::Paused : EventKind::Resumed;
  if (options_.response == 0)
    return events_.after(ports_[link].delay_lane, network_.links[link].delay_ps, kind, slot, 0);
  events_.at(events_.now() + network_.links[link].delay_ps + options_.response, kind, slot, 0);
}

/// A frame says what the gate is when it leaves; one that waited may have been overtaken by events.
void Engine::on_frame_sent(LinkId link) {
  Port& port = ports_[link];
  const Slot slot = port.frames.front();
  port.frames.pop_front();
  port.is_busy = false;
  dispatch(slot, ingresses_[slot].is_closed);
  start(link);
}

void Engine::on_paused(Slot slot) {
  Queue& queue = queues_[slot];
  --queue.messages;
  const LinkId link = link_of(slot);
  Port& port = ports_[link];
  if ((port.paused & bit_of(slot)) != 0) return;
  if (queue.is_storming) {
    ++queue.version;  // whatever was to restore it
    return;
  }
  port.paused = static_cast<std::uint8_t>(port.paused | bit_of(slot));
  queue.stopped = events_.now();
  if (options_.watchdog.action != WatchdogAction::None && port.flows.empty()) watch(slot);
}

void Engine::on_resumed(Slot slot) {
  Queue& queue = queues_[slot];
  --queue.messages;
  ++queue.version;
  if (queue.is_storming) {
    events_.at(events_.now() + options_.watchdog.restore, EventKind::Restored, slot, queue.version);
    if (options_.watchdog.action == WatchdogAction::Forward) return;
  }
  const LinkId link = link_of(slot);
  ports_[link].paused = static_cast<std::uint8_t>(ports_[link].paused & ~bit_of(slot));
  if (!ports_[link].is_busy) start(link);
}

void Engine::watch(Slot slot) {
  events_.at(events_.now() + options_.watchdog.detect, EventKind::Suspected, slot,
             ++queues_[slot].version);
}

void Engine::on_suspected(Slot slot, std::uint32_t version) {
  Queue& queue = queues_[slot];
  if (queue.version != version) return;
  if (queue.head == kNothing) return watch(slot);
  const LinkId link = link_of(slot);
  ++report_.storms;
  ++queue.version;
  queue.is_storming = true;
  ports_[link].paused = static_cast<std::uint8_t>(ports_[link].paused & ~bit_of(slot));
  if (options_.watchdog.action == WatchdogAction::Drop) return flush(slot);
  if (!ports_[link].is_busy) start(link);
}

void Engine::on_restored(Slot slot, std::uint32_t version) {
  if (queues_[slot].version == version) queues_[slot].is_storming = false;
}

void Engine::flush(Slot slot) {
  Queue& queue = queues_[slot];
  Port& port = ports_[link_of(slot)];
  PacketId id = std::exchange(queue.head, kNothing);
  port.waiting = static_cast<std::uint8_t>(port.waiting & ~bit_of(slot));
  while (id != kNothing) {
    const PacketId next = packets_[id].next;
    ++report_.flows[packets_[id].flow].discarded;
    const Slot counted_in = std::exchange(packets_[id].counted_in, kNothing);
    release(id);
    if (counted_in != kNothing) count_out(counted_in);
    id = next;
  }
}

}  // namespace portcullis::pfc::packet
