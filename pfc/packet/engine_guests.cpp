// SPDX-License-Identifier: BSD-3-Clause
//
// Guests: packets that somebody outside hands to the host of a flow. They lie in the queue of its
// first link, go before what the host's own sources have there, and are packets like any other from
// then on: what is kept here beside them changes nothing of what happens to them.
#include <utility>

#include "pfc/packet/engine.hpp"

namespace portcullis::pfc::packet {

/// As run(), but up to `time` and no further, and a deadlock ends nothing: who calls has a clock
/// that goes on.
void Engine::run_until(Picoseconds time) {
  while (const Event* event = events_.next(time)) {
    ++report_.events;
    if (event->kind == EventKind::Inspected) {
      static_cast<void>(on_inspected());
    } else {
      handle(*event);
    }
  }
  events_.advance(time);
}

RunReport Engine::finish() {
  static_cast<void>(on_inspected());
  return report_at(events_.now());
}

void Engine::offer(std::uint32_t flow, std::uint32_t bytes, std::uint64_t tag) {
  const PacketId id = make_packet(flow, bytes);
  packets_[id].is_guest = true;
  guests_[id].seen = {.tag = tag, .offered = events_.now()};
  enqueue(id);
}

void Engine::note_queued(PacketId id) {
  const auto guest = guests_.find(id);
  if (guest != guests_.end())
    guest->second.paused_before = paused_ps(network_.hop_slots[packets_[id].hop]);
}

void Engine::note_taken(PacketId id) {
  const auto guest = guests_.find(id);
  if (guest == guests_.end()) return;
  Packet& packet = packets_[id];
  Guest& seen = guest->second.seen;
  const Picoseconds paused =
      paused_ps(network_.hop_slots[packet.hop]) - guest->second.paused_before;
  if (packet.counted_in != kNothing) {
    seen.paused += paused;
    return;
  }
  // It leaves its host: until now it was in no fabric.
  packet.born = seen.sent = events_.now();
}

void Engine::end_guest(PacketId id, bool has_arrived) {
  const auto found = guests_.find(id);
  if (found == guests_.end()) return;
  Guest guest = found->second.seen;
  guests_.erase(found);
  packets_[id].is_guest = false;
  guest.has_arrived = has_arrived;
  guest.ended = events_.now();
  if (on_guest_) on_guest_(guest);
}

}  // namespace portcullis::pfc::packet
