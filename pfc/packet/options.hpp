// SPDX-License-Identifier: BSD-3-Clause
//
// What a run of the packet simulator takes beside the topology, and what it returns. Times and
// bytes are integers, so a run is the same on every machine.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/histogram.hpp"
#include "pfc/packet/event_queue.hpp"
#include "pfc/topology.hpp"

namespace portcullis::pfc::packet {

enum class WatchdogAction : std::uint8_t {
  None,
  Drop,     // the queue is emptied, and what comes for it is lost, until it is restored
  Forward,  // the queue is sent in spite of the PAUSE, until it is restored
  Alert,    // it is counted, and nothing else happens
};

/// What the watchdog does on one link, where that is not what it does on the others.
struct WatchedPort {
  LinkId link = 0;
  WatchdogAction action = WatchdogAction::None;
  Picoseconds detect = 200'000'000'000;
  Picoseconds restore = 200'000'000'000;
};

/// As switches' PFC watchdogs do (SONiC's PfcWdOrch has these actions and times): a queue of a
/// switch that has been paused for `detect` is taken for stuck; it is restored when its gate has
/// been open for `restore`.
struct Watchdog {
  WatchdogAction action = WatchdogAction::None;
  Picoseconds detect = 200'000'000'000;
  Picoseconds restore = 200'000'000'000;
  /// 0: pauses are timed by themselves. Else queues are looked at at every multiple of it, and both
  /// times run down by `poll` at each look, as SONiC's scripts have it: a queue has been stuck
  /// since the look before when it was paused then and now, was not resumed in between and, where
  /// PAUSE frames expire, heard one; it has been quiet when it heard none. Two looks at least see a
  /// storm.
  Picoseconds poll = 0;
  std::vector<WatchedPort> ports = {};
};

/// PAUSE as 802.1Qbb has it on the wire: a frame stops its priority for `quanta` times 512 bit
/// times of the link, unless another one comes before.
struct PauseTimer {
  std::uint32_t quanta = 0;  // 1 to 65535; 0: a PAUSE holds until the gate opens
  /// While its gate is closed a port sends the frame again so long after the one before, in quanta.
  /// 0: half of `quanta`.
  std::uint32_t refresh = 0;
};

/// A host that sends PAUSE by itself, whatever its buffer holds: a NIC that broke.
struct Storm {
  NodeId host = 0;
  std::uint32_t priority = 0;
  Picoseconds from = 0;
  Picoseconds to = 0;  // above `from`
};

/// Which priority of a link sends next.
struct Schedule {
  enum class Kind : std::uint8_t {
    Turns,   // one packet each
    Strict,  // the highest that may
    Shares,  // those without a share as in Strict, before all others; those by deficit round robin
  };
  Kind kind = Kind::Turns;
  std::array<double, kPriorities> shares{};  // of Shares: weights; 0: none
};

/// No more than `rate` (data per time) of flow `flow`, packets evenly spaced and nothing made up
/// for: what a congestion control's rate limiter does.
struct RateLimit {
  std::uint32_t flow = 0;
  double rate = 0;
};

/// Switches mark packets by the bytes in the queue of their priority that they come to: none up to
/// `least_bytes`, all above `most_bytes`, in between with a probability that rises to
/// `most_marked`.
struct Ecn {
  bool is_on = false;
  std::int64_t least_bytes = 5'000;
  std::int64_t most_bytes = 200'000;
  double most_marked = 0.01;
  std::uint64_t seed = 1;
};

/// DCQCN (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015). The
/// defaults of this and of Ecn are those of its authors' fluid model; it has no hyper increase and
/// no least rate, where these are ten additive steps and one.
struct Dcqcn {
  bool is_on = false;
  Picoseconds cnp_every = 50'000'000;       // a receiver tells of marks no more often
  Picoseconds alpha_every = 55'000'000;     // without a CNP alpha decays
  Picoseconds timer = 55'000'000;           // between two increases by time
  std::int64_t counter_bytes = 10'000'000;  // and by bytes
  std::uint32_t recoveries = 5;             // F
  double gain = 1.0 / 256;                  // g
  double additive_bps = 40e6;               // R_AI
  double hyper_bps = 400e6;                 // R_HAI
  double least_bps = 40e6;
};

/// So many bytes from one node to another, as packets of RunOptions::packet_bytes and one of what
/// is left. Its host sends messages in turn, a packet each, and flows beside them.
struct Message {
  NodeId from = 0;
  NodeId to = 0;
  std::uint64_t bytes = 0;
  Picoseconds start = 0;
  std::uint32_t priority = 0;
};

/// Packets of flow `flow` are so large.
struct PacketSize {
  std::uint32_t flow = 0;
  std::uint32_t bytes = 0;
};

struct RunOptions {
  Picoseconds until = 0;
  std::uint32_t packet_bytes = 1000;
  std::vector<PacketSize> sizes;  // of the flows that have others
  /// True: a PAUSE frame waits for the packet that its link is sending, and takes 84 byte times
  /// (64, preamble, gap), where there is a link back. False: it is on its way at once.
  bool pause_in_band = true;
  /// From the end of a PAUSE frame until the sender has stopped.
  Picoseconds response = 0;
  PauseTimer pause_timer;
  std::vector<Storm> storms;
  Watchdog watchdog;
  Schedule schedule;
  Ecn ecn;
  Dcqcn dcqcn;  // of all flows and messages; takes marks
  /// Each takes one way of those that routes offer, at random by `ways_seed`.
  std::vector<Message> messages;
  std::uint64_t ways_seed = 1;
  std::vector<RateLimit> limits;
  bool stop_at_deadlock = true;
  bool with_residence = false;   // fills FlowReport::residence
  Picoseconds sample_every = 0;  // 0: no samples
  /// Asked now and then with the simulated time; false ends the run. May be empty.
  std::function<bool(Picoseconds)> progress = {};
};

struct FlowReport {
  std::uint64_t sent = 0;  // left their host
  std::uint64_t delivered = 0;
  std::uint64_t delivered_bytes = 0;
  std::uint64_t marked = 0;       // of those delivered, by ECN
  std::uint64_t cnps = 0;         // that came to the source
  double rate_bps = 0;            // that DCQCN leaves it at the end; 0 without DCQCN
  std::uint64_t overflowed = 0;   // found no room in an ingress
  std::uint64_t expired = 0;      // used up their TTL
  std::uint64_t discarded = 0;    // by the watchdog
  std::uint64_t source_lost = 0;  // found no room at their source
  std::uint64_t waiting = 0;      // at their source at the end; of a greedy source 0
  std::uint64_t held = 0;         // in the network at the end
  Picoseconds greatest_residence =
      0;                        // from the first bit out to the last bit in, of those delivered
  Picoseconds oldest_held = 0;  // how long the oldest of `held` has been in the network
  std::optional<Histogram> residence;  // nanoseconds
};

struct MessageReport {
  Picoseconds took = -1;     // from its start to its last bit's arrival; -1: it has not all arrived
  Picoseconds at_least = 0;  // on the same way with nothing else in the fabric
  std::uint64_t arrived = 0;  // bytes
};

/// The ingress of a link at its far end and the queue before it, for one priority.
struct IngressReport {
  LinkId link = 0;
  std::uint32_t priority = 0;
  std::uint64_t closings = 0;
  Picoseconds closed = 0;  // in all
  std::int64_t most_bytes = 0;
  std::int64_t bytes = 0;  // at the end
};

/// Gates that can never open again: what keeps each closed waits behind another.
struct Deadlock {
  Picoseconds time = 0;  // when the last queue of `cycle` came to a stop
  std::uint32_t priority = 0;
  std::vector<LinkId> cycle;  // each waits for the next, the last for the first
  std::size_t gates = 0;      // closed for ever, those of the cycle included
};

struct Sample {
  Picoseconds time = 0;
  std::vector<std::uint64_t> delivered_bytes;  // a flow
  std::vector<std::int64_t> ingress_bytes;     // in the order of RunReport::ingresses
  std::vector<bool> is_closed;
};

struct RunReport {
  Picoseconds end = 0;  // when a deadlock was noticed that ended the run, or `until`
  std::uint64_t events = 0;
  std::uint64_t hops = 0;                  // packets that left a queue, their host's included
  std::uint64_t storms = 0;                // queues that the watchdog took for stuck
  std::uint64_t restored = 0;              // and let go
  std::uint64_t refreshed = 0;             // PAUSE frames that only repeated one
  std::uint64_t run_out = 0;               // pauses that ended because no frame came in time
  std::size_t loose_links = 0;             // whose PAUSE may: no deadlock was looked for on them
  std::optional<Deadlock> deadlock;        // that stands at the end
  std::optional<Deadlock> ended_deadlock;  // the first of those that the watchdog ended
  bool is_stopped = false;                 // by `progress`
  std::vector<FlowReport> flows;
  std::vector<MessageReport> messages;  // as in RunOptions
  FlowReport of_messages;               // their packets, all together
  std::vector<IngressReport> ingresses;
  std::vector<Sample> samples;
};

}  // namespace portcullis::pfc::packet
