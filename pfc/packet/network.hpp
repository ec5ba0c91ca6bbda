// SPDX-License-Identifier: BSD-3-Clause
//
// A topology in the units of the simulator: bytes and picoseconds, arrays instead of names. A slot
// is a link and one of the priorities in use: the queue before the link and the ingress after it.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "base/result.hpp"
#include "pfc/packet/options.hpp"
#include "pfc/topology.hpp"

namespace portcullis::pfc::packet {

using Bytes = std::int64_t;
using Slot = std::uint32_t;

inline constexpr Bytes kBoundless = std::numeric_limits<Bytes>::max() / 4;
inline constexpr std::uint32_t kNothing = std::numeric_limits<std::uint32_t>::max();

struct LinkPlan {
  NodeId from = 0;
  NodeId to = 0;
  bool to_host = false;
  LinkId back = kNothing;  // the link that carries its PAUSE frames
  double ps_per_byte = 0;
  Picoseconds packet_ps = 0;  // to send one packet of RunOptions::packet_bytes
  Picoseconds frame_ps = 0;   // to send one PAUSE frame
  Picoseconds delay_ps = 0;
  Bytes xoff = kBoundless;  // closes at this or more
  Bytes xon = kBoundless;   // opens below this
  Bytes limit = kBoundless;
  /// Of PAUSE frames that expire; 0 where they do not.
  Picoseconds pause_ps = 0;
  Picoseconds refresh_ps = 0;
  bool is_held =
      true;  // refreshed frames come before the one before runs out, whatever else is sent
};

struct NodePlan {
  Bytes shared = kBoundless;
  double alpha = 0;  // 0: no dynamic threshold
};

struct FlowPlan {
  std::uint32_t priority = 0;  // on its first link: position in Network::priorities
  std::uint32_t first = 0;     // of its links in Network::hops
  std::uint32_t last = 0;      // behind them
  std::uint32_t again = 0;     // where it goes on at `last`: of a routing loop; else kNothing
  std::uint32_t ttl = 0;       // 0: none
  Picoseconds spacing_ps = 0;  // of a rate limit
  std::uint32_t bytes = 0;     // of each packet
  Picoseconds cnp_ps = 0;      // that a CNP takes back to its source
  double line_bps = 0;         // of its first link
};

struct Network {
  std::vector<NodePlan> nodes;
  std::vector<LinkPlan> links;
  std::vector<FlowPlan> flows;  // of the topology, then of messages
  std::vector<LinkId> hops;
  std::vector<Slot> hop_slots;            // of `hops` and the priority there
  std::vector<std::uint32_t> priorities;  // in use, ascending
  double ps_per_time = 1;
  double bytes_per_data = 1;

  [[nodiscard]] Slot slot(LinkId link, std::uint32_t priority) const noexcept {
    return link * static_cast<Slot>(priorities.size()) + priority;
  }
};

/// `topology` was checked. InvalidArgument when there are no flows, for flows without a way, for
/// flows round a loop where priorities are rewritten, for
/// packets larger than a buffer allows, for rate limits, sizes, storms and watched ports of what
/// does not exist, for PAUSE times that 16 bits do not hold, for shares that are no weights, for
/// sources that offer more packets than a double counts, and for delays and packets of over two
/// hours, for 64 bits of picoseconds hold 106 days.
[[nodiscard]] Result<Network> compile(const Topology& topology, const RunOptions& options);

}  // namespace portcullis::pfc::packet
