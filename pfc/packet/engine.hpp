// SPDX-License-Identifier: BSD-3-Clause
//
// The moving parts of a run. Switches queue at their outputs and count at their inputs: a packet
// lies in the queue of the link it goes to next, and counts for the ingress of the link it came by
// until its last bit has left. Internal to pfc/packet; simulator.hpp is the way in.
#pragma once

#include <bit>
#include <cstdint>
#include <deque>
#include <vector>

#include "pfc/packet/event_queue.hpp"
#include "pfc/packet/network.hpp"
#include "pfc/packet/offer.hpp"
#include "pfc/packet/options.hpp"

namespace portcullis::pfc::packet {

using PacketId = std::uint32_t;  // position in Engine::packets_

struct Packet {
  PacketId next = kNothing;  // in its queue, or in the list of free ones
  std::uint32_t flow = 0;
  std::uint32_t hop = 0;       // of the link it is on or waits for, in Network::hops
  std::uint32_t ttl = 0;       // links it may still take; 0: no limit
  Slot counted_in = kNothing;  // the ingress it counts for
  Picoseconds born = 0;        // its first bit left the source
};

/// One priority of a link, near end: what waits to be sent.
struct Queue {
  PacketId head = kNothing;
  PacketId tail = kNothing;
  Picoseconds stopped = 0;     // when it last sent or was paused
  std::uint32_t messages = 0;  // PAUSE and resume frames on their way here
  std::uint32_t version = 0;   // of the watchdog's clock
  bool is_storming = false;    // in the hands of the watchdog
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
  std::deque<Slot> frames;  // PAUSE or resume frames to send, by the slot they speak of
};

class Engine {
 public:
  Engine(const Topology& topology, Network network, const RunOptions& options);

  [[nodiscard]] RunReport run();

 private:
  // engine.cpp: packets from queue to queue.
  void handle(const Event& event);
  void on_sent(LinkId link, PacketId id);
  void on_arrived(LinkId link, PacketId id);
  void count_in(Slot slot, NodeId node, PacketId id);
  void count_out(Slot slot);
  void enqueue(PacketId id);
  void start(LinkId link);
  void start_frame(LinkId link);
  [[nodiscard]] PacketId take(LinkId link, std::uint32_t priority);
  [[nodiscard]] PacketId make_packet(std::uint32_t flow);
  void release(PacketId id);
  [[nodiscard]] std::uint8_t ready(const Port& port) const noexcept {
    return static_cast<std::uint8_t>((port.waiting | port.sourced) & ~port.paused);
  }

  // engine_pause.cpp: gates, PAUSE frames, the watchdog.
  [[nodiscard]] Bytes closes_at(LinkId link) const;
  [[nodiscard]] bool opens(Slot slot) const;
  void close(Slot slot);
  void open(Slot slot);
  void reopen_others(NodeId node);
  void send_message(Slot slot);
  void dispatch(Slot slot, bool is_closed);
  void on_frame_sent(LinkId link);
  void on_paused(Slot slot);
  void on_resumed(Slot slot);
  void watch(Slot slot);
  void on_suspected(Slot slot, std::uint32_t version);
  void on_restored(Slot slot, std::uint32_t version);
  void flush(Slot slot);

  // engine_report.cpp: samples, deadlock, the end.
  void on_sampled();
  [[nodiscard]] bool on_inspected();
  [[nodiscard]] RunReport report();
  [[nodiscard]] Picoseconds inspection_ps() const;

  [[nodiscard]] LinkId link_of(Slot slot) const noexcept { return slot / classes_; }
  [[nodiscard]] std::uint8_t bit_of(Slot slot) const noexcept {
    return static_cast<std::uint8_t>(1U << (slot % classes_));
  }

  Network network_;
  const RunOptions& options_;
  std::uint32_t classes_;  // priorities in use
  Bytes packet_bytes_;
  EventQueue events_;
  std::vector<Port> ports_;
  std::vector<Queue> queues_;       // by slot
  std::vector<Ingress> ingresses_;  // by slot
  std::vector<Packet> packets_;
  PacketId free_ = kNothing;
  std::vector<Offer> offers_;            // by flow
  std::vector<Bytes> shared_;            // by node: bytes of all its ingresses
  std::vector<std::vector<LinkId>> in_;  // links into each node with a dynamic threshold
  RunReport report_;
};

/// The gates that can never open again, given that nothing but PFC holds them; kNothing-free slots,
/// ascending. `is_blocked` has a slot's queue paused, silent and its gate closed.
struct BlockedGates {
  std::vector<Slot> slots;
  std::vector<Slot> cycle;
};
[[nodiscard]] BlockedGates find_blocked(const Network& network, std::vector<bool> is_blocked,
                                        const std::vector<Queue>& queues,
                                        const std::vector<Packet>& packets, Bytes packet_bytes);

}  // namespace portcullis::pfc::packet
