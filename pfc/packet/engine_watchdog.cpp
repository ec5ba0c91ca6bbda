// SPDX-License-Identifier: BSD-3-Clause
//
// The watchdog: queues of switches that stay paused. Timed pause by pause, or polled.
#include <algorithm>
#include <utility>

#include "pfc/packet/engine.hpp"

namespace portcullis::pfc::packet {

/// Ports where flows begin have none.
void Engine::set_watchdog() {
  const Watchdog& watchdog = options_.watchdog;
  watched_.assign(ports_.size(), {0, watchdog.action, watchdog.detect, watchdog.restore});
  for (const WatchedPort& port : watchdog.ports) watched_[port.link] = port;
  for (LinkId link = 0; link < ports_.size(); ++link)
    if (ports_[link].is_source) watched_[link].action = WatchdogAction::None;
  can_end_deadlocks_ = std::ranges::any_of(watched_, [](const WatchedPort& port) {
    return port.action == WatchdogAction::Drop || port.action == WatchdogAction::Forward;
  });
  for (Slot slot = 0; slot < queues_.size(); ++slot)
    pauses_[slot].left = watched_[link_of(slot)].detect;
}

void Engine::watch(Slot slot) {
  events_.at(events_.now() + watched_[link_of(slot)].detect, EventKind::Suspected, slot,
             ++queues_[slot].version);
}

void Engine::on_suspected(Slot slot, std::uint32_t version) {
  const Queue& queue = queues_[slot];
  if (queue.version != version) return;
  if (queue.head == kNothing) return watch(slot);
  take_for_stuck(slot);
}

void Engine::take_for_stuck(Slot slot) {
  Queue& queue = queues_[slot];
  Port& port = ports_[queue.link];
  const WatchdogAction action = watched_[queue.link].action;
  ++report_.storms;
  ++queue.version;
  if (action == WatchdogAction::Alert) {
    pauses_[slot].is_alerted = true;
    return;
  }
  queue.is_storming = true;
  let_go(slot);
  if (action == WatchdogAction::Drop) return flush(slot);
  if (!port.is_busy) start(queue.link);
}

void Engine::on_restored(Slot slot, std::uint32_t version) {
  if (queues_[slot].version == version) restore(slot);
}

void Engine::restore(Slot slot) {
  queues_[slot].is_storming = false;
  pauses_[slot].is_alerted = false;
  ++report_.restored;
}

void Engine::on_polled() {
  for (Slot slot = 0; slot < queues_.size(); ++slot) {
    const WatchedPort& watched = watched_[link_of(slot)];
    if (watched.action != WatchdogAction::None) look_at(slot, watched);
  }
  events_.at(events_.now() + options_.watchdog.poll, EventKind::Polled, 0, 0);
}

void Engine::look_at(Slot slot, const WatchedPort& watched) {
  PauseState& pause = pauses_[slot];
  const bool has_heard = pause.heard != pause.heard_before;
  const bool expires = network_.links[link_of(slot)].pause_ps > 0;
  const bool is_stuck = pause.was_told && pause.is_told && pause.resumed == pause.resumed_before &&
                        (has_heard || !expires);
  pause.was_told = pause.is_told;
  pause.heard_before = pause.heard;
  pause.resumed_before = pause.resumed;
  const Picoseconds poll = options_.watchdog.poll;
  if (queues_[slot].is_storming) {
    if (has_heard || pause.is_told) {
      pause.left = watched.restore;
    } else if (pause.left <= poll) {
      pause.left = watched.detect;
      restore(slot);
    } else {
      pause.left -= poll;
    }
    return;
  }
  if (!is_stuck) {
    pause.left = watched.detect;
    if (pause.is_alerted) restore(slot);
    return;
  }
  if (pause.is_alerted) return;
  const Picoseconds charge = std::min(poll, watched.detect - 1);
  if (pause.left > charge) {
    pause.left -= charge;
    return;
  }
  pause.left = watched.restore;
  take_for_stuck(slot);
}

void Engine::flush(Slot slot) {
  Queue& queue = queues_[slot];
  Port& port = ports_[queue.link];
  PacketId id = std::exchange(queue.head, kNothing);
  port.waiting = static_cast<std::uint8_t>(port.waiting & ~queue.bit);
  while (id != kNothing) {
    const PacketId next = packets_[id].next;
    ++report_.flows[packets_[id].flow].discarded;
    const Slot counted_in = std::exchange(packets_[id].counted_in, kNothing);
    const Bytes bytes = packets_[id].bytes;
    if (has_ecn_) queued_[slot] -= bytes;
    release(id);
    if (counted_in != kNothing) count_out(counted_in, bytes);
    id = next;
  }
}

}  // namespace portcullis::pfc::packet
