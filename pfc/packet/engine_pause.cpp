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
  // An ingress that is empty opens whatever the others leave it, unless its host storms.
  if (pauses_[slot].storms > 0) return false;
  return ingresses_[slot].bytes < below || ingresses_[slot].bytes == 0;
}

void Engine::close(Slot slot) {
  Ingress& ingress = ingresses_[slot];
  ingress.is_closed = true;
  ingress.closed_at = events_.now();
  ++ingress.closings;
  send_message(slot);
  const Picoseconds again = network_.links[link_of(slot)].refresh_ps;
  if (again > 0) refresh_at(slot, events_.now() + again);
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
  if (!options_.pause_in_band || back == kNothing) return dispatch(slot, false);
  ports_[back].frames.push_back({slot, false});
  ++pauses_[slot].frames;
  if (!ports_[back].is_busy) start(back);
}

/// A frame says what the gate is when it leaves; one that waited may have been overtaken by events.
void Engine::dispatch(Slot slot, bool is_repeat) {
  const LinkId link = link_of(slot);
  const EventKind kind = ingresses_[slot].is_closed ? EventKind::Paused : EventKind::Resumed;
  const std::uint32_t item = is_repeat ? 1 : 0;
  if (options_.response == 0)
    return events_.after(ports_[link].delay_lane, network_.links[link].delay_ps, kind, slot, item);
  events_.at(events_.now() + network_.links[link].delay_ps + options_.response, kind, slot, item);
}

void Engine::on_frame_sent(LinkId link) {
  Port& port = ports_[link];
  const Frame frame = port.frames.front();
  port.frames.pop_front();
  --pauses_[frame.slot].frames;
  port.is_busy = false;
  dispatch(frame.slot, frame.is_repeat);
  start(link);
}

/// How long the near end has been paused, all pauses together.
Picoseconds Engine::paused_ps(Slot slot) const noexcept {
  const PauseState& pause = pauses_[slot];
  const bool is_paused = (ports_[link_of(slot)].paused & bit_of(slot)) != 0;
  return pause.paused + (is_paused ? events_.now() - pause.since : 0);
}

/// Its queue may be sent from, whoever says so.
void Engine::let_go(Slot slot) {
  pauses_[slot].paused = paused_ps(slot);
  Port& port = ports_[link_of(slot)];
  port.paused = static_cast<std::uint8_t>(port.paused & ~bit_of(slot));
}

void Engine::on_paused(Slot slot, bool is_repeat) {
  Queue& queue = queues_[slot];
  PauseState& pause = pauses_[slot];
  if (!is_repeat) --queue.messages;
  pause.is_told = true;
  ++pause.heard;
  const Picoseconds lasts = network_.links[queue.link].pause_ps;
  if (lasts > 0) run_out_at(slot, events_.now() + lasts);
  Port& port = ports_[queue.link];
  if ((port.paused & queue.bit) != 0) return;
  if (queue.is_storming) {
    ++queue.version;  // whatever was to restore it
    return;
  }
  port.paused = static_cast<std::uint8_t>(port.paused | queue.bit);
  queue.stopped = pause.since = events_.now();
  if (options_.watchdog.poll == 0 && watched_[queue.link].action != WatchdogAction::None)
    watch(slot);
}

void Engine::on_resumed(Slot slot, bool is_repeat) {
  if (!is_repeat) --queues_[slot].messages;
  pauses_[slot].is_told = false;
  ++pauses_[slot].resumed;
  end_pause(slot);
}

void Engine::end_pause(Slot slot) {
  Queue& queue = queues_[slot];
  ++queue.version;
  if (queue.is_storming) {
    const WatchedPort& watched = watched_[queue.link];
    if (options_.watchdog.poll == 0)
      events_.at(events_.now() + watched.restore, EventKind::Restored, slot, queue.version);
    if (watched.action == WatchdogAction::Forward) return;
  }
  let_go(slot);
  if (!ports_[queue.link].is_busy) start(queue.link);
}

/// One event a slot is pending at most; what comes before its time moves it.
void Engine::refresh_at(Slot slot, Picoseconds time) {
  PauseState& pause = pauses_[slot];
  pause.refresh_at = time;
  if (pause.is_refreshing) return;
  pause.is_refreshing = true;
  events_.at(time, EventKind::Refreshing, slot, 0);
}

void Engine::on_refreshing(Slot slot) {
  PauseState& pause = pauses_[slot];
  pause.is_refreshing = false;
  if (!ingresses_[slot].is_closed) return;
  if (events_.now() < pause.refresh_at) return refresh_at(slot, pause.refresh_at);
  const LinkPlan& plan = network_.links[link_of(slot)];
  refresh_at(slot, events_.now() + plan.refresh_ps);
  if (!options_.pause_in_band || plan.back == kNothing) {
    ++report_.refreshed;
    return dispatch(slot, true);
  }
  if (pause.frames > 0) return;  // one that waits says the same
  ++report_.refreshed;
  ++pause.frames;
  ports_[plan.back].frames.push_back({slot, true});
  if (!ports_[plan.back].is_busy) start(plan.back);
}

void Engine::run_out_at(Slot slot, Picoseconds time) {
  PauseState& pause = pauses_[slot];
  pause.until = time;
  if (pause.is_running) return;
  pause.is_running = true;
  events_.at(time, EventKind::RanOut, slot, 0);
}

void Engine::on_ran_out(Slot slot) {
  PauseState& pause = pauses_[slot];
  pause.is_running = false;
  if (!pause.is_told) return;
  if (events_.now() < pause.until) return run_out_at(slot, pause.until);
  pause.is_told = false;
  ++report_.run_out;
  end_pause(slot);
}

/// A host that storms closes the gates behind all of its links. When it ends, PAUSE frames that
/// expire are left to, for what broke sends no resume.
void Engine::on_stormed(std::uint32_t index, bool is_over) {
  const Storm& storm = options_.storms[index];
  const auto priority = static_cast<std::uint32_t>(
      std::ranges::find(network_.priorities, storm.priority) - network_.priorities.begin());
  for (LinkId link = 0; link < network_.links.size(); ++link) {
    if (network_.links[link].to != storm.host) continue;
    const Slot slot = network_.slot(link, priority);
    Ingress& ingress = ingresses_[slot];
    std::uint32_t& storms = pauses_[slot].storms;
    storms = is_over ? storms - 1 : storms + 1;
    if (storms == 1 && !is_over) {
      close(slot);
    } else if (storms == 0 && network_.links[link].pause_ps == 0) {
      open(slot);
    } else if (storms == 0) {
      ingress.is_closed = false;
      ingress.closed += events_.now() - ingress.closed_at;
    }
  }
}

}  // namespace portcullis::pfc::packet
