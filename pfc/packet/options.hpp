// SPDX-License-Identifier: BSD-3-Clause
//
// What a run of the packet simulator takes beside the topology, and what it returns. Times and
// bytes are integers, so a run is the same on every machine.
#pragma once

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
};

/// As switches' PFC watchdogs do (SONiC's PfcWdOrch has these actions and times): a queue of a
/// switch that has been paused for `detect` is taken for stuck; it is restored when its gate has
/// been open for `restore`.
struct Watchdog {
  WatchdogAction action = WatchdogAction::None;
  Picoseconds detect = 200'000'000'000;
  Picoseconds restore = 200'000'000'000;
};

/// No more than `rate` (data per time) of flow `flow`, packets evenly spaced and nothing made up
/// for: what a congestion control's rate limiter does.
struct RateLimit {
  std::uint32_t flow = 0;
  double rate = 0;
};

struct RunOptions {
  Picoseconds until = 0;
  std::uint32_t packet_bytes = 1000;
  /// True: a PAUSE frame waits for the packet that its link is sending, and takes 84 byte times
  /// (64, preamble, gap), where there is a link back. False: it is on its way at once.
  bool pause_in_band = true;
  /// From the end of a PAUSE frame until the sender has stopped.
  Picoseconds response = 0;
  Watchdog watchdog;
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
  std::uint64_t hops = 0;            // packets that left a queue, their host's included
  std::uint64_t storms = 0;          // queues that the watchdog took for stuck
  std::optional<Deadlock> deadlock;  // the first
  bool is_stopped = false;           // by `progress`
  std::vector<FlowReport> flows;
  std::vector<IngressReport> ingresses;
  std::vector<Sample> samples;
};

}  // namespace portcullis::pfc::packet
