// SPDX-License-Identifier: BSD-3-Clause
//
// The fabric of the experiment: a ring of three switches with a server at each, and a host at each
// that sends to the last server as fast as its link goes. The first server reaches the last one
// over two links of the ring, so a pause at the last switch goes on to the first; what comes back
// takes the third. No route goes on from a link to one that waits for it, so there is a bound.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/result.hpp"
#include "pfc/topology.hpp"

namespace portcullis::late {

inline constexpr std::size_t kServers = 3;

struct RingOptions {
  double gbps = 10;                   // of every link
  double delay_us = 1;                // cable and switch
  double xoff_kb = 400;               // of every ingress
  double from_us = 1000;              // when the loads begin,
  double until_us = pfc::kUnlimited;  // and end
  bool has_loads = true;
  /// False: a lossy priority. The switches send no PAUSE, and drop what finds no room.
  bool pauses = true;
  /// Everything goes round the same way: each link of the ring waits for the next, and there is no
  /// bound.
  bool is_clockwise = false;
};

struct Ring {
  pfc::Topology topology;  // units: microseconds and 1000 bytes
  std::array<pfc::NodeId, kServers> servers{};

  /// The flow of guests from one server to another, which offers nothing itself.
  [[nodiscard]] std::uint32_t way(std::size_t from, std::size_t to) const;
};

/// Every ingress has the headroom that its link needs. InvalidArgument for sizes that no fabric
/// has.
[[nodiscard]] Result<Ring> make_ring(const RingOptions& options);

/// Microseconds from the first bit that leaves a server to the last that arrives, at most, whatever
/// is sent: what `pfc-deadlock residence --packet-bytes 4214` finds. InvalidArgument with the
/// reason where there is no bound.
[[nodiscard]] Result<double> residence_bound_us(const Ring& ring);

}  // namespace portcullis::late
