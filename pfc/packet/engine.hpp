// SPDX-License-Identifier: BSD-3-Clause
//
// The moving parts of a run. Switches queue at their outputs and count at their inputs: a packet
// lies in the queue of the link it goes to next, and counts for the ingress of the link it came by
// until its last bit has left. Internal to pfc/packet; simulator.hpp is the way in.
#pragma once

#include <bit>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <queue>
#include <random>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pfc/packet/event_queue.hpp"
#include "pfc/packet/live_fabric.hpp"
#include "pfc/packet/network.hpp"
#include "pfc/packet/offer.hpp"
#include "pfc/packet/options.hpp"
#include "pfc/packet/rate_control.hpp"

namespace portcullis::pfc::packet {

using PacketId = std::uint32_t;  // position in Engine::packets_

struct Packet {
  PacketId next = kNothing;  // in its queue, or in the list of free ones
  std::uint32_t flow = 0;
  std::uint32_t hop = 0;       // of the link it is on or waits for, in Network::hops
  Slot counted_in = kNothing;  // the ingress it counts for
  std::uint32_t bytes = 0;
  std::uint16_t ttl = 0;  // links it may still take; 0: no limit
  bool is_marked = false;
  bool is_guest = false;  // one of Engine::guests_
  Picoseconds born = 0;   // its first bit left the source
};

/// One priority of a link, near end: what waits to be sent.
struct Queue {
  PacketId head = kNothing;
  PacketId tail = kNothing;
  Picoseconds stopped = 0;     // when it last sent or was paused
  LinkId link = 0;             // of this slot
  std::uint32_t messages = 0;  // PAUSE and resume frames on their way here, but for repeated ones
  std::uint32_t version = 0;   // of the watchdog's clock
  std::uint8_t bit = 0;        // of this slot's priority
  bool is_storming = false;    // in the hands of the watchdog
};

/// What one slot's two ends know of its pauses beside its gate: timers, and what the watchdog saw.
struct PauseState {
  Picoseconds until = 0;       // near end: what was heard last holds until then
  Picoseconds refresh_at = 0;  // far end: to be said again
  Picoseconds since = 0;       // near end: of the pause that it is in
  Picoseconds paused = 0;      // and what those before it took
  Picoseconds left = 0;        // of the watchdog's time
  std::uint32_t heard = 0;     // PAUSE frames, the repeated ones included
  std::uint32_t resumed = 0;
  std::uint32_t heard_before = 0;  // at the look before, as are the two below
  std::uint32_t resumed_before = 0;
  bool was_told = false;
  bool is_told = false;        // near end: to pause, by what was heard last
  bool is_running = false;     // a RanOut event is pending
  bool is_refreshing = false;  // a Refreshing event is
  bool is_alerted = false;     // the watchdog has counted this pause
  std::uint32_t frames = 0;    // of this slot that wait for the link back
  std::uint32_t storms = 0;    // that hold the gate closed
};

/// One priority of a link, far end: what came over it and is still here.
struct Ingress {
  Bytes bytes = 0;
  Bytes most_bytes = 0;
  Picoseconds closed_at = 0;
  Picoseconds closed = 0;
  std::uint64_t closings = 0;
  bool is_closed = false;
};

/// Messages of one priority that begin at a link: those that may send, in turn, and those that wait
/// for their start or for their rate.
class SendQueue {
 public:
  void add(Picoseconds time, std::uint32_t flow) { waiting_.emplace(time, flow); }
  /// When one may send, at `now` or later; nothing when there are none.
  [[nodiscard]] std::optional<Picoseconds> next(Picoseconds now) {
    for (; !waiting_.empty() && waiting_.top().first <= now; waiting_.pop())
      ready_.push_back(waiting_.top().second);
    if (!ready_.empty()) return now;
    return waiting_.empty() ? std::nullopt : std::optional(waiting_.top().first);
  }
  /// Where next() said now.
  [[nodiscard]] std::uint32_t take() {
    const std::uint32_t flow = ready_.front();
    ready_.pop_front();
    return flow;
  }
  void put_back(std::uint32_t flow) { ready_.push_back(flow); }

 private:
  using Entry = std::pair<Picoseconds, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> waiting_;
  std::deque<std::uint32_t> ready_;
};

/// A PAUSE or resume frame to send: what it says is what the gate is when it leaves.
struct Frame {
  Slot slot = 0;
  bool is_repeat = false;
};

/// The sending end of a link. A bit a priority.
struct Port {
  EventQueue::Lane packet_lane = 0;
  EventQueue::Lane frame_lane = 0;
  EventQueue::Lane delay_lane = 0;
  std::uint8_t waiting = 0;  // queues that hold packets
  std::uint8_t paused = 0;
  std::uint8_t sourced = 0;  // with sources that may still offer something
  std::uint8_t turn = 0;     // the priority to look at first
  bool is_busy = false;
  Picoseconds offered_at = 0;        // the pending Offered event; 0: none
  std::vector<std::uint32_t> flows;  // that start here
  std::uint32_t flow_turn = 0;
  bool is_source = false;       // flows or messages start here
  bool has_sent_flows = false;  // last; messages are next
  std::deque<Frame> frames;
  std::uint8_t share_turn = 0;        // the priority that has the word, of Schedule::Shares
  std::vector<std::int64_t> credits;  // bytes, by priority, likewise
};

/// The gates that can never open again, given that nothing but PFC holds them; kNothing-free slots,
/// ascending.
struct BlockedGates {
  std::vector<Slot> slots;
  std::vector<Slot> cycle;
};

class Engine {
 public:
  Engine(const Topology& topology, Network network, const RunOptions& options);

  [[nodiscard]] RunReport run();

  // For who has packets of its own and a clock beside this one: see LiveFabric, which calls begin()
  // once, then the others as it likes, and finish() at the end.
  void begin();
  void run_until(Picoseconds time);
  void offer(std::uint32_t flow, std::uint32_t bytes, std::uint64_t tag);
  void on_guest(std::function<void(const Guest&)> hears) { on_guest_ = std::move(hears); }
  [[nodiscard]] Picoseconds now() const noexcept { return events_.now(); }
  [[nodiscard]] Picoseconds next_time() const noexcept { return events_.next_time(); }
  [[nodiscard]] const Network& network() const noexcept { return network_; }
  [[nodiscard]] RunReport finish();

 private:
  // engine.cpp: packets from queue to queue.
  void handle(const Event& event);
  void on_sent(LinkId link, PacketId id);
  void on_arrived(LinkId link, PacketId id);
  void deliver(PacketId id);
  void count_in(Slot slot, LinkId link, PacketId id);
  void count_out(Slot slot, Bytes bytes);
  void enqueue(PacketId id);
  void start(LinkId link);
  void start_frame(LinkId link);
  [[nodiscard]] PacketId take(LinkId link, std::uint32_t priority);
  [[nodiscard]] std::optional<PacketId> take_of_flows(LinkId link, std::uint32_t priority,
                                                      Picoseconds& soonest);
  [[nodiscard]] PacketId make_packet(std::uint32_t flow, std::uint32_t bytes);
  void release(PacketId id);
  [[nodiscard]] std::uint8_t ready(const Port& port) const noexcept {
    return static_cast<std::uint8_t>((port.waiting | port.sourced) & ~port.paused);
  }

  // engine_schedule.cpp: which priority sends next, where it is not one after the other.
  void give_shares();
  [[nodiscard]] std::uint8_t scheduled(Port& port, std::uint8_t ready);
  void charge(Port& port, std::uint8_t priority, std::uint32_t bytes) const;

  // engine_messages.cpp
  void set_messages();
  [[nodiscard]] std::optional<PacketId> take_of_messages(LinkId link, std::uint32_t priority,
                                                         Picoseconds& soonest);
  void on_message(std::uint32_t flow, std::uint32_t bytes);
  [[nodiscard]] Picoseconds least_time(std::uint32_t message) const;
  void report_messages();

  // engine_guests.cpp: packets that come from outside the simulation.
  struct GuestState {
    Guest seen;
    Picoseconds paused_before = 0;  // of the queue that it lies in
  };
  void note_queued(PacketId id);
  void note_taken(PacketId id);
  void end_guest(PacketId id, bool has_arrived);

  // engine_congestion.cpp: marks, CNPs, rates.
  void set_rates();
  void mark(Slot slot, Packet& packet);
  void on_marked(std::uint32_t flow);
  void on_notified(std::uint32_t flow);

  // engine_pause.cpp: gates, PAUSE frames, hosts that send them by themselves.
  [[nodiscard]] Bytes closes_at(LinkId link) const;
  [[nodiscard]] bool opens(Slot slot) const;
  void close(Slot slot);
  void open(Slot slot);
  void reopen_others(NodeId node);
  void send_message(Slot slot);
  void dispatch(Slot slot, bool is_repeat);
  void on_frame_sent(LinkId link);
  [[nodiscard]] Picoseconds paused_ps(Slot slot) const noexcept;
  void let_go(Slot slot);
  void on_paused(Slot slot, bool is_repeat);
  void on_resumed(Slot slot, bool is_repeat);
  void end_pause(Slot slot);
  void on_refreshing(Slot slot);
  void refresh_at(Slot slot, Picoseconds time);
  void run_out_at(Slot slot, Picoseconds time);
  void on_ran_out(Slot slot);
  void on_stormed(std::uint32_t storm, bool is_over);

  // engine_watchdog.cpp
  void set_watchdog();
  void watch(Slot slot);
  void on_suspected(Slot slot, std::uint32_t version);
  void on_restored(Slot slot, std::uint32_t version);
  void take_for_stuck(Slot slot);
  void restore(Slot slot);
  void on_polled();
  void look_at(Slot slot, const WatchedPort& watched);
  void flush(Slot slot);

  // engine_report.cpp: samples, deadlock, the end.
  void on_sampled();
  [[nodiscard]] bool on_inspected();
  [[nodiscard]] BlockedGates blocked() const;
  void begin_deadlock(const BlockedGates& gates);
  [[nodiscard]] bool stands(const BlockedGates& gates) const;
  [[nodiscard]] RunReport report();
  [[nodiscard]] RunReport report_at(Picoseconds now);
  [[nodiscard]] Picoseconds inspection_ps() const;

  [[nodiscard]] LinkId link_of(Slot slot) const noexcept { return queues_[slot].link; }
  [[nodiscard]] std::uint8_t bit_of(Slot slot) const noexcept { return queues_[slot].bit; }

  Network network_;
  const RunOptions& options_;
  std::uint32_t classes_;  // priorities in use
  Bytes packet_bytes_;
  EventQueue events_;
  std::vector<Port> ports_;
  std::vector<Queue> queues_;         // by slot
  std::vector<Ingress> ingresses_;    // by slot
  std::vector<PauseState> pauses_;    // by slot
  std::vector<WatchedPort> watched_;  // by link
  bool is_in_turn_;                   // Schedule::Turns
  std::vector<std::int64_t> quanta_;  // bytes a round, by priority; 0: none, strict
  std::vector<Packet> packets_;
  PacketId free_ = kNothing;
  std::vector<Offer> offers_;            // by flow
  std::uint32_t first_message_;          // flows from here on are messages
  std::vector<std::uint32_t> sends_at_;  // by slot, in sends_; empty without messages
  std::vector<SendQueue> sends_;
  std::vector<std::uint64_t> unsent_;  // bytes, by message
  std::unordered_map<PacketId, GuestState> guests_;
  std::function<void(const Guest&)> on_guest_;
  bool has_ecn_;
  std::mt19937_64 random_;               // of marks
  std::vector<Bytes> queued_;            // by slot, where there are marks
  std::vector<RateControl> rates_;       // by flow, of DCQCN; else empty
  std::vector<Picoseconds> cnp_from_;    // by flow: no CNP before
  std::vector<Bytes> shared_;            // by node: bytes of all its ingresses
  std::vector<std::vector<LinkId>> in_;  // links into each node with a dynamic threshold
  bool can_end_deadlocks_ = false;       // a watchdog that does more than count
  std::vector<Slot> locked_;             // the cycle of report_.deadlock
  RunReport report_;
};

/// `is_blocked` has a slot's queue paused, silent and its gate closed.
[[nodiscard]] BlockedGates find_blocked(const Network& network, std::vector<bool> is_blocked,
                                        const std::vector<Queue>& queues,
                                        const std::vector<Packet>& packets);

}  // namespace portcullis::pfc::packet
