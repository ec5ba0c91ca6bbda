// SPDX-License-Identifier: BSD-3-Clause
//
// The packet simulator as a part of something larger: beside what its own flows send, it carries
// packets that somebody else hands to it, and hands them back where they arrive. Whoever does so
// has a clock, and lets the fabric's follow it. Switches, PAUSE and watchdogs are simulate()'s own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/result.hpp"
#include "pfc/packet/options.hpp"
#include "pfc/topology.hpp"

namespace portcullis::pfc::packet {

/// What became of a packet that was handed in.
struct Guest {
  std::uint64_t tag = 0;     // as handed in
  bool has_arrived = false;  // false: the fabric dropped it
  Picoseconds offered = 0;   // to its host
  Picoseconds sent = 0;      // its first bit left the host, from where on it is the fabric's
  Picoseconds ended = 0;     // its last bit arrived, or it was dropped
  Picoseconds paused = 0;    // of that, in queues of switches while they were paused
};

class LiveFabric {
 public:
  using OnGuest = std::function<void(const Guest&)>;

  /// `topology` was checked. `on_guest` hears of the end of each guest, and must not call the
  /// fabric. As simulate(); RunOptions::until is how long it goes on at most. InvalidArgument for
  /// marks too: they are for sources that the simulator itself slows down.
  [[nodiscard]] static Result<LiveFabric> create(const Topology& topology,
                                                 const RunOptions& options, OnGuest on_guest);
  LiveFabric(LiveFabric&& other) noexcept;
  LiveFabric& operator=(LiveFabric&& other) noexcept;
  ~LiveFabric();

  /// Hands a packet of `bytes` to the host where flow `flow` begins, now. It goes that flow's way
  /// and in its priority, whatever the flow's own source offers: a rate of 0 leaves the way to
  /// guests alone. InvalidArgument for a flow that there is not, for a packet of no bytes, and for
  /// one that a buffer on the way has no room for.
  [[nodiscard]] Result<void> offer(std::uint32_t flow, std::uint32_t bytes, std::uint64_t tag);
  /// All that happens up to `time`, which becomes now unless it is over.
  void run_until(Picoseconds time);
  [[nodiscard]] Picoseconds now() const noexcept;
  /// When something happens next, at now() or later; none after RunOptions::until.
  [[nodiscard]] std::optional<Picoseconds> next_time() const noexcept;
  /// Of all that happened, as simulate() reports it; ends the fabric.
  [[nodiscard]] RunReport finish() &&;

 private:
  struct State;
  explicit LiveFabric(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace portcullis::pfc::packet
